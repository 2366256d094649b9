"""Tests of fetched records: the range that is sent, and errors of its file."""

import errno
import os

import pytest

from cordwood.broker.network.slice_reader import SliceReader
from cordwood.broker.partitions.fetched_records import FetchedRecords
from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Slice
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.log_config import LogConfig
from cordwood.testing.file_faults import FileFault
from cordwood.testing.inline_worker import InlineWorker
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.storage.log_samples import batch


def fetched(harness: BrokerHarness) -> Slice:
    """Return the records that a fetch of a hosted partition sends."""
    orders = harness.host()
    orders.append(memoryview(batch(2)))
    read = orders.read(0, max_bytes=1 << 20, isolation=FetchIsolation.HIGH_WATERMARK)
    assert isinstance(read.slice, FetchedRecords)
    return read.slice


def test_records_are_the_range_of_the_log() -> None:
    part = fetched(BrokerHarness())

    whole = bytes(part.read())

    assert (part.position, part.length, part.descriptor) == (0, len(batch(2)), None)
    assert len(whole) == part.length
    assert bytes(part.read(3, 4)) == bytes(part.read_cached(3, 4)) == whole[3:7]
    part.release()
    with pytest.raises(ValueError, match="released"):
        part.read()


def test_failed_disk_takes_the_log_directory_offline() -> None:
    harness = BrokerHarness()
    part = fetched(harness)
    harness.storage.files.script.add(FileFault(on="pread", path="*.log", code=errno.EIO))

    with pytest.raises(KafkaStorageError, match="Input/output error"):
        run(SliceReader(InlineWorker()).read(part, 0, length=part.length))

    assert [each.is_online for each in harness.manager.directories].count(False) == 1
    assert [each for each in harness.storage.events if "is offline with 1 logs" in each]
    with pytest.raises(KafkaStorageError):
        harness.broker.partitions.get("orders", 0).empty_read()


def test_error_that_may_pass_leaves_the_log_directory_online() -> None:
    harness = BrokerHarness(LogConfig())
    part = fetched(harness)

    failure = part.fail(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))

    assert isinstance(failure, KafkaStorageError)
    assert all(each.is_online for each in harness.manager.directories)
