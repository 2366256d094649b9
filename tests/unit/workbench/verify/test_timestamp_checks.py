"""The max timestamp of batches is held against their records."""

import struct

import pytest

from cordwood.core.binary import crc32c
from cordwood.records.batch_builder import BatchFields, empty_batch
from cordwood.records.batch_header import read_header
from cordwood.records.batch_stream import batch_at
from cordwood.records.record_batch import RecordBatch
from tests.unit.storage.reader_samples import directory
from tests.unit.storage.segment_samples import message, times
from tests.unit.workbench.verified import damages, verified


def with_latest(data: bytes, latest: int) -> bytes:
    """Return a batch with another max timestamp and a right checksum."""
    changed = bytearray(data)
    struct.pack_into(">q", changed, 35, latest)
    struct.pack_into(">I", changed, 17, crc32c(bytes(changed[21:])))
    return bytes(changed)


def log_append_time(data: bytes) -> bytes:
    changed = bytearray(data)
    batch = batch_at(changed, 0)
    assert isinstance(batch, RecordBatch)
    batch.set_log_append_time(9999)
    return bytes(changed)


@pytest.mark.parametrize("latest", (1000, 2999, 3001, -1))
def test_wrong_max_timestamp_is_damage(latest: int) -> None:
    data = times(0, 2000) + with_latest(times(1, 3000, 1000), latest) + times(3, 3000)

    (found,) = verified(directory(log=data)).findings

    header = read_header(data, len(times(0, 2000)))
    assert header is not None
    assert found.cause == "the max timestamp of a batch is not that of its records"
    assert (found.position, found.first_offset, found.end_offset) == (header.position, 1, 3)
    assert (found.expected, found.found) == (3000, latest)


def test_wrong_max_timestamps_of_a_segment_are_one_finding() -> None:
    data = b"".join(with_latest(times(offset, 3000), 7) for offset in range(5))

    assert damages(directory(log=data)) == [
        (".log", "the max timestamp of a batch is not that of its records (one of 5 batches)")
    ]


@pytest.mark.parametrize(
    "data",
    (
        times(0, -1),
        times(0, 5, -1, 7, 3),
        log_append_time(times(0, 1, 2)),
        bytes(
            empty_batch(
                BatchFields(producer_id=7, producer_epoch=0), last_offset=4, max_timestamp=5
            )
        ),
        message(0),
        message(0, magic=0),
    ),
)
def test_legal_max_timestamps_are_accepted(data: bytes) -> None:
    assert damages(directory(log=data)) == []
