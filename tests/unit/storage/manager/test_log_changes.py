"""Rolls and retention of a manager's logs run on the worker, and appends wait for rolls."""

import errno
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Lane, Pending
from cordwood.storage.log.log import Log
from cordwood.storage.log.segment_deletion import SEGMENTS_PER_TURN
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager.deleted_ranges import DeletedRange
from cordwood.storage.manager.log_changes import apply_retention, prepare_append, roll
from cordwood.storage.manager.log_manager import LogManager
from cordwood.testing.file_faults import ArmedFileFault, FileFault
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.storage.log.test_append_files import CHANGES, PAIRS, prepared
from tests.unit.storage.log_samples import batch, filled
from tests.unit.storage.manager_samples import (
    HeldWorker,
    LogManagerHarness,
    create_logs,
)

T = TypeVar("T")

KEPT = LogConfig(segment_bytes=2 * len(batch()), retention_ms=1000)


def begun(config: LogConfig = KEPT) -> tuple[LogManagerHarness, LogManager, HeldWorker]:
    """Return a manager whose worker holds all of its calls."""
    worker = HeldWorker(holds_files=True)
    harness = LogManagerHarness("/a", config=config)
    return harness, harness.load(worker), worker


class Disk:
    """A file system that can be used by the jobs of a worker only."""

    def __init__(self, files: MemoryFiles) -> None:
        self._script = files.script
        self._faults: list[ArmedFileFault] = []
        self.forbid()

    def forbid(self) -> None:
        calls = (*CHANGES, "open", "pread")
        self._faults = [self._script.add(FileFault(on=call, times=99)) for call in calls]

    def allow(self) -> None:
        for each in self._faults:
            self._script.remove(each)


class JobWorker(HeldWorker):
    """A worker whose jobs may use the disk, unlike the steps between them."""

    def __init__(self) -> None:
        super().__init__(holds_files=True)
        self.disk: Disk | None = None

    def submit(self, call: Callable[[], T], *, lane: Lane) -> Future[T]:
        def run() -> T:
            if self.disk is not None:
                self.disk.allow()
            try:
                return call()
            finally:
                if self.disk is not None:
                    self.disk.forbid()

        return super().submit(run, lane=lane)


def finish(worker: HeldWorker, end: Pending[None]) -> None:
    while not end.done():
        worker.go_on()


def old_segments(manager: LogManager, harness: LogManagerHarness, count: int) -> Log:
    log = filled(create_logs(manager)[0], count)
    log.set_high_watermark(log.bounds.log_end)
    harness.clock.advance(seconds=20)
    return log


def test_second_append_joins_the_roll_of_the_first_one() -> None:
    _, manager, worker = begun(PAIRS)
    log = filled(create_logs(manager)[0], 2)

    first = prepare_append(manager, log, prepared=prepared(log))
    second = prepare_append(manager, log, prepared=prepared(log))
    assert first is not None
    finish(worker, first)

    assert (second, log.base_offsets) == (first, (0, 2))
    assert prepare_append(manager, log, prepared=prepared(log)) is None


def test_failed_change_of_files_is_made_again_for_the_next_append() -> None:
    harness, manager, worker = begun(PAIRS)
    log = filled(create_logs(manager)[0], 2)
    harness.files.script.add(FileFault(on="create", path="*2.log", code=errno.ENOSPC))

    ends = []
    for _ in range(2):
        end = prepare_append(manager, log, prepared=prepared(log))
        assert end is not None
        finish(worker, end)
        ends.append(end.exception())

    assert isinstance(ends[0], KafkaStorageError)
    assert (ends[1], log.base_offsets, manager.is_serving) == (None, (0, 2), True)


def test_roll_of_a_log_that_goes_offline_ends_with_an_error() -> None:
    _, manager, worker = begun(PAIRS)
    log = filled(create_logs(manager)[0], 1)

    end = roll(manager, log)
    manager.fail(manager.directories[0], OSError(errno.EIO, "gone"))
    finish(worker, end)

    assert isinstance(end.exception(), KafkaStorageError)


def test_roll_of_an_empty_log_does_nothing() -> None:
    _, manager, worker = begun()
    log = create_logs(manager)[0]

    assert roll(manager, log).done()
    assert (worker.held, log.base_offsets) == ([], (0,))


@pytest.mark.parametrize("count", (4, 5))
def test_retention_uses_the_disk_on_the_worker_only(count: int) -> None:
    harness, manager, _ = begun()
    log = old_segments(manager, harness, count)
    log.close()
    again = LogManagerHarness("/a", config=KEPT)
    again.files, again.clock = harness.files, harness.clock
    manager.close()
    jobs = JobWorker()
    manager = again.load(jobs)
    log = next(iter(manager.logs.values()))
    log.set_high_watermark(log.bounds.log_end)

    jobs.disk = Disk(again.files)
    end = apply_retention(manager, log)
    is_waiting = not end.done()
    finish(jobs, end)
    jobs.disk.allow()

    assert (is_waiting, end.exception(), log.base_offsets) == (True, None, (count,))
    deleted = [each for each in again.files.list("/a/orders-0") if each.endswith(".deleted")]
    assert {each[:20] for each in deleted if ".log" in each} == {
        f"{base:020}" for base in range(0, count, 2)
    }


def test_lease_is_held_until_retention_has_ended() -> None:
    harness, manager, worker = begun()
    log = old_segments(manager, harness, 4)

    end = apply_retention(manager, log)
    during = log.lease.is_free
    finish(worker, end)

    assert (during, log.lease.is_free, end.exception()) == (False, True, None)


def test_log_is_offline_when_the_files_of_old_segments_cannot_be_renamed() -> None:
    harness, manager, worker = begun()
    log = old_segments(manager, harness, 4)
    harness.files.script.add(FileFault(on="rename", path="*.log*", code=errno.EIO))

    end = apply_retention(manager, log)
    finish(worker, end)

    assert isinstance(end.exception(), KafkaStorageError)
    assert (manager.is_serving, log.lease.is_free) == (False, True)


def test_retention_deletes_thousands_of_segments_in_several_turns() -> None:
    """All of a log's 5,000 segments were one turn of 0.25 s."""
    harness, manager, worker = begun(replace(KEPT, segment_index_bytes=24))
    log = old_segments(manager, harness, 2 * (SEGMENTS_PER_TURN + 5))

    counts = [len(log.base_offsets)]
    end = apply_retention(manager, log)
    while not end.done():
        worker.go_on()
        counts.append(len(log.base_offsets))

    assert max(before - after for before, after in pairwise(counts)) <= SEGMENTS_PER_TURN
    assert len(log.base_offsets) == 1
    assert log.bounds.log_start == log.bounds.log_end


def test_retention_reports_the_segments_of_a_round_once_with_their_reason() -> None:
    harness, manager, worker = begun(replace(KEPT, segment_index_bytes=24))
    log = old_segments(manager, harness, 2 * (SEGMENTS_PER_TURN + 5))
    size, segments = log.size, len(log.base_offsets)

    finish(worker, apply_retention(manager, log))
    finish(worker, apply_retention(manager, log))

    assert harness.deleted == [
        DeletedRange(log.partition, "retention.ms", 0, log.bounds.log_end, segments, size)
    ]


def test_retention_reports_each_reason_with_its_offsets() -> None:
    harness, manager, worker = begun()
    log = old_segments(manager, harness, 6)
    log.delete_records(2)

    finish(worker, apply_retention(manager, log))

    found = [(each.reason, each.first_offset, each.end_offset) for each in harness.deleted]
    assert found == [("log start offset", 0, 2), ("retention.ms", 2, 6)]


def test_retention_stops_between_two_turns_when_its_lease_is_revoked() -> None:
    harness, manager, worker = begun(replace(KEPT, segment_index_bytes=24))
    log = old_segments(manager, harness, 2 * (SEGMENTS_PER_TURN + 5))

    end = apply_retention(manager, log)
    while not harness.deleted and not end.done():
        log.lease = log.lease.abort()
        worker.go_on()

    assert sum(each.segments for each in harness.deleted) <= SEGMENTS_PER_TURN
