"""Lookups by timestamp run on the worker, and again when the log has changed."""

import errno
from collections.abc import Callable
from dataclasses import replace

import pytest

from cordwood.core.errors import CorruptMessageError, KafkaStorageError
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_read import MAX_TIMESTAMP, FetchIsolation
from cordwood.storage.manager import log_renames
from cordwood.storage.manager.timestamp_lookups import LOOKUPS_AT_A_TIME, TimestampLookups
from cordwood.storage.segment.segment_view import TimestampAndOffset
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.cleaned_samples import cleaned
from tests.unit.storage.log_samples import NOW, batch, lead
from tests.unit.storage.manager_samples import HeldWorker, LogManagerHarness, create_logs, partition

HIGH_WATERMARK = FetchIsolation.HIGH_WATERMARK


class LookupHarness:
    """A log of three segments with two records each, ten milliseconds apart."""

    def __init__(self) -> None:
        self.logs = LogManagerHarness("/a")
        self.worker = HeldWorker()
        self.manager = self.logs.load(self.worker)
        self.lookups = TimestampLookups(self.manager)
        self.log = self.create(0)

    def create(self, number: int) -> Log:
        log = create_logs(self.manager, number)[0]
        for step in range(6):
            lead(log, batch(timestamp=NOW + 10 * step))
            if step % 2:
                log.roll()
        log.set_high_watermark(6)
        return log


@pytest.fixture
def harness() -> LookupHarness:
    return LookupHarness()


def test_lookup_reads_on_the_worker(harness: LookupHarness) -> None:
    pending = harness.lookups.find(harness.log, NOW + 21, isolation=HIGH_WATERMARK)
    before = pending.done()

    harness.worker.go_on()

    assert (before, pending.result()) == (False, TimestampAndOffset(NOW + 30, 3, 0))


def delete_old(harness: LookupHarness) -> None:
    config = replace(harness.log.config, retention_bytes=3 * len(batch()))
    harness.log.configure(config)
    harness.log.delete_old_segments()


def swap(harness: LookupHarness) -> None:
    replacement = cleaned(harness.logs.files, harness.log, (0, 2), without=(0, 2))
    harness.log.begin_swap(replacement).finish()


@pytest.mark.parametrize(
    ("timestamp", "change", "expected"),
    (
        (NOW, lambda harness: harness.log.delete_records(3), 3),
        (NOW, delete_old, 2),
        (NOW, swap, 1),
        (NOW + 20, swap, 3),
        (NOW + 30, lambda harness: harness.log.truncate_to(3), None),
        (MAX_TIMESTAMP, lambda harness: harness.log.truncate_to(3), 2),
        (NOW, lambda harness: harness.log.truncate_fully(9), None),
    ),
)
def test_lookup_finds_what_the_log_has_after_a_change(
    harness: LookupHarness,
    timestamp: int,
    change: Callable[[LookupHarness], object],
    expected: int | None,
) -> None:
    pending = harness.lookups.find(harness.log, timestamp, isolation=FetchIsolation.LOG_END)

    change(harness)
    while not pending.done():
        harness.worker.go_on()

    found = pending.result()
    assert (None if found is None else found.offset) == expected
    assert harness.manager.directories[0].is_online


def test_lookup_fails_when_its_log_is_deleted(harness: LookupHarness) -> None:
    pending = harness.lookups.find(harness.log, NOW, isolation=HIGH_WATERMARK)

    log_renames.delete(harness.manager, partition())
    harness.worker.go_on()

    assert isinstance(pending.exception(), KafkaStorageError)
    assert harness.manager.directories[0].is_online


def test_lookup_in_a_failed_directory_fails(harness: LookupHarness) -> None:
    harness.manager.fail(harness.manager.directories[0], OSError("gone"))

    pending = harness.lookups.find(harness.log, NOW, isolation=HIGH_WATERMARK)

    assert isinstance(pending.exception(), KafkaStorageError)


@pytest.mark.parametrize(("code", "is_online"), ((errno.EIO, False), (errno.EMFILE, True)))
def test_error_of_the_disk_fails_the_lookup(
    harness: LookupHarness, code: int, *, is_online: bool
) -> None:
    harness.logs.files.script.add(FileFault(on="open", path="*.log", times=9, code=code))

    pending = harness.lookups.find(harness.log, NOW, isolation=HIGH_WATERMARK)
    harness.worker.go_on()

    assert isinstance(pending.exception(), KafkaStorageError)
    assert harness.manager.directories[0].is_online is is_online


def test_invalid_batch_fails_the_lookup_alone(harness: LookupHarness) -> None:
    path = f"{harness.log.directory}/{0:020}.log"
    harness.logs.files.open(path, writable=True).pwrite(b"\xff", 16)

    pending = harness.lookups.find(harness.log, NOW, isolation=HIGH_WATERMARK)
    harness.worker.go_on()

    assert isinstance(pending.exception(), CorruptMessageError)
    assert harness.manager.directories[0].is_online


def test_few_lookups_run_at_a_time(harness: LookupHarness) -> None:
    logs = [harness.create(number) for number in range(1, 6)]
    pending = [harness.lookups.find(log, NOW, isolation=HIGH_WATERMARK) for log in logs]
    at_first = len(harness.worker.held)

    while harness.worker.held:
        harness.worker.go_on()

    assert at_first == LOOKUPS_AT_A_TIME
    assert [each.result() for each in pending] == [TimestampAndOffset(NOW, 0, 0)] * 5


def test_lookup_without_a_free_descriptor_makes_the_owner_close_idle_files(
    harness: LookupHarness,
) -> None:
    cache = harness.manager.options.open_files
    before = cache.open_count
    harness.logs.files.script.add(FileFault(on="open", path="*.log", times=3, code=errno.EMFILE))

    failed = harness.lookups.find(harness.log, NOW, isolation=HIGH_WATERMARK)
    harness.worker.go_on()

    assert isinstance(failed.exception(), KafkaStorageError)
    assert cache.open_count == before // 2
