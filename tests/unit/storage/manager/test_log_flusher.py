"""Logs are flushed on the worker; a request is done only when its records are durable."""

import errno
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Lane, Pending
from cordwood.storage.manager import log_creation, log_renames, log_truncation
from cordwood.storage.manager.log_flusher import LogFlusher
from cordwood.storage.producers import snapshot_files
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.log_samples import batch, filled, follow, lead, produced
from tests.unit.storage.manager_samples import (
    OTHER_ID,
    HeldWorker,
    LogManagerHarness,
    create_future_log,
    create_logs,
    partition,
)

T = TypeVar("T")


class LogFlusherHarness:
    """A log with records, and a flusher whose worker runs on demand."""

    def __init__(self) -> None:
        self.logs = LogManagerHarness()
        self.worker = HeldWorker()
        self.manager = self.logs.load(self.worker)
        self.log = filled(create_logs(self.manager)[0], 2)
        self.flusher = LogFlusher(self.manager)

    def flush(self) -> Pending[None]:
        return self.flusher.flush(self.log)

    def fail(self, code: int) -> None:
        """Make the next fsync of the log fail."""
        self.logs.files.script.add(FileFault(on="sync", path="/a/orders-0/*", code=code))

    @property
    def recovery_point(self) -> int:
        return self.log.bounds.recovery_point


@pytest.fixture
def harness() -> LogFlusherHarness:
    return LogFlusherHarness()


def test_flush_is_done_when_the_worker_has_done_it(harness: LogFlusherHarness) -> None:
    pending = harness.flush()
    before = (pending.done(), harness.recovery_point)
    harness.worker.go_on()

    assert before == (False, 0)
    assert pending.done()
    assert harness.recovery_point == 2


def test_flush_that_has_ended_is_freed_without_a_garbage_collection(
    harness: LogFlusherHarness,
) -> None:
    pending = weakref.ref(harness.flush())
    harness.worker.go_on()

    assert pending() is None


def test_flush_reports_its_duration(harness: LogFlusherHarness) -> None:
    took = list[float]()
    flusher = LogFlusher(harness.manager, flushed=took.append)

    flusher.flush(harness.log)
    harness.logs.clock.advance(ms=7)
    harness.worker.go_on()

    assert took == [7]


def test_flush_of_a_durable_log_is_done_immediately(harness: LogFlusherHarness) -> None:
    harness.log.flush()

    assert harness.flush().done()
    assert harness.worker.held == []


def test_cancelled_request_does_not_block_the_others(harness: LogFlusherHarness) -> None:
    first, second, third = (harness.flush() for _ in range(3))
    assert isinstance(first, Future)
    assert isinstance(second, Future)

    first.cancel()
    second.cancel()
    harness.worker.go_on()
    harness.worker.go_on()

    assert third.done()
    assert harness.recovery_point == 2


def test_requests_during_a_flush_share_the_next_flush(harness: LogFlusherHarness) -> None:
    first = harness.flush()
    lead(harness.log, batch())
    others = [harness.flush(), harness.flush()]

    harness.worker.go_on()
    between = (first.done(), [pending.done() for pending in others], len(harness.worker.held))
    harness.worker.go_on()

    assert between == (True, [False, False], 1)
    assert all(pending.done() for pending in others)
    assert harness.recovery_point == 3


def test_request_at_the_end_of_another_one_begins_no_second_job(
    harness: LogFlusherHarness,
) -> None:
    followed = list[Pending[None]]()
    harness.flush()
    harness.log.epoch_file.assign(7, 2)
    saved, flushed = harness.flusher.save_epochs(harness.log), harness.flush()
    saved.add_done_callback(lambda _: followed.append(harness.flush()))
    lead(harness.log, batch())

    counts = []
    while harness.worker.held:
        counts.append(len(harness.worker.held))
        harness.worker.go_on()

    assert [each.done() for each in (saved, flushed, *followed)] == [True] * 3
    assert counts == [1] * len(counts)


@pytest.mark.parametrize("code", (errno.EIO, errno.ENOSPC))
def test_failed_sync_takes_the_directory_offline_and_fails_all_requests(
    harness: LogFlusherHarness, code: int
) -> None:
    harness.fail(code)
    pendings = [harness.flush(), harness.flush()]

    harness.worker.go_on()

    for pending in pendings:
        with pytest.raises(KafkaStorageError):
            pending.result()
    assert not harness.manager.has(harness.log)
    assert harness.recovery_point == 0


def test_flush_is_rejected_and_may_be_repeated_when_descriptors_are_missing(
    harness: LogFlusherHarness,
) -> None:
    harness.logs.files.script.add(FileFault(on="open", path="*.log", code=errno.EMFILE))
    refused = harness.flush()
    harness.worker.go_on()

    again = harness.flush()
    harness.worker.go_on()

    assert isinstance(refused.exception(), KafkaStorageError)
    assert again.exception() is None
    assert harness.recovery_point == 2


def test_flush_of_a_log_that_is_offline_is_rejected(harness: LogFlusherHarness) -> None:
    harness.manager.fail(harness.manager.directories[0], OSError(errno.EIO, "gone"))

    with pytest.raises(KafkaStorageError, match="orders-0: the log is offline or deleted"):
        harness.flush().result()


def test_log_is_renamed_after_the_save_of_its_epochs(harness: LogFlusherHarness) -> None:
    harness.log.epoch_file.assign(7, 2)
    harness.flusher.save_epochs(harness.log)

    log_renames.delete(harness.manager, partition())
    again = log_creation.create(harness.manager, partition(), topic_id=OTHER_ID)
    harness.worker.go_on()

    again.epoch_file.load()
    assert again.epochs.entries == ()


def test_epochs_whose_directory_was_renamed_are_saved_again(harness: LogFlusherHarness) -> None:
    harness.log.flush()
    harness.log.epoch_file.assign(7, 2)
    saved = harness.flusher.save_epochs(harness.log)

    harness.log.begin_move("/a/orders-1")
    harness.worker.go_on()
    harness.worker.go_on()

    assert saved.exception() is None
    harness.log.epoch_file.load()
    assert harness.log.epochs.latest == (7, 2)


class BrokenWorker(HeldWorker):
    """A worker that rejects every call."""

    def submit(self, call: Callable[[], T], *, lane: Lane) -> Future[T]:
        raise RuntimeError("a defect")


def test_request_whose_job_cannot_be_started_has_an_error() -> None:
    logs = LogManagerHarness()
    manager = logs.load()
    log = filled(create_logs(manager)[0], 2)
    object.__setattr__(manager.ports, "worker", BrokenWorker())

    pending = LogFlusher(manager).flush(log)

    assert pending.done()
    with pytest.raises(KafkaStorageError, match="the flush failed: RuntimeError"):
        pending.result()
    assert logs.task_failures == 1


def test_requests_have_an_error_if_a_job_cannot_be_finished(harness: LogFlusherHarness) -> None:
    def defect(took_ms: float) -> None:
        raise IndexError("a defect")

    flusher = LogFlusher(harness.manager, flushed=defect)
    first, second = flusher.flush(harness.log), flusher.flush(harness.log)

    harness.worker.go_on()

    with pytest.raises(KafkaStorageError, match="the flush failed: IndexError"):
        first.result()
    assert second.exception() is None
    assert "orders-0: maintenance failed: IndexError('a defect')" in harness.logs.events[-1]


def test_log_deleted_during_its_flush_takes_no_directory_offline(
    harness: LogFlusherHarness,
) -> None:
    pending = harness.flush()
    log_renames.delete(harness.manager, partition())

    harness.worker.go_on()

    with pytest.raises(KafkaStorageError, match="orders-0: the log is offline or deleted"):
        pending.result()
    assert harness.manager.directories[0].is_online


def test_log_that_is_truncated_while_it_is_flushed_is_flushed_again(
    harness: LogFlusherHarness,
) -> None:
    pending = harness.flush()
    log_truncation.truncate(harness.manager, {partition(): 1})
    lead(harness.log, batch(), batch())

    harness.worker.go_on()
    between = (pending.done(), harness.recovery_point)
    harness.worker.go_on()

    assert between == (False, 0)
    assert pending.done()
    assert harness.recovery_point == 3


def test_future_log_that_is_promoted_while_it_is_flushed_is_flushed_again(
    harness: LogFlusherHarness,
) -> None:
    copy = create_future_log(harness.manager, partition(), harness.manager.directories[1])
    follow(copy, batch(at=0))
    pending = harness.flusher.flush(copy)
    log_renames.promote(harness.manager, partition())
    follow(copy, batch(at=1))

    harness.worker.go_on()
    harness.worker.go_on()

    assert pending.exception() is None
    assert copy.bounds.recovery_point == 2


def test_closed_flusher_has_completed_all_requests(harness: LogFlusherHarness) -> None:
    pendings = [harness.flush(), harness.flush()]
    closed = harness.flusher.close()
    is_closed_early = closed.done()
    harness.worker.go_on()
    harness.worker.go_on()

    assert (is_closed_early, closed.done()) == (False, True)
    assert [pending.done() for pending in pendings] == [True, True]
    assert harness.recovery_point == 2


def test_idle_flusher_is_closed_at_once(harness: LogFlusherHarness) -> None:
    assert harness.flusher.close().done()


# -- snapshots of rolls


@pytest.fixture
def rolled(harness: LogFlusherHarness, monkeypatch: pytest.MonkeyPatch) -> LogFlusherHarness:
    """Return a log that was rolled at 3, with a snapshot in memory only; a flush is not begun."""
    monkeypatch.setattr(snapshot_files, "SMALL", 0)
    lead(harness.log, produced(0))
    harness.log.roll()
    harness.log.epoch_file.save()
    return harness


def snapshots_in(harness: LogFlusherHarness) -> list[str]:
    names = harness.logs.files.list(harness.log.directory)
    return [name.lstrip("0") for name in names if ".snapshot" in name]


def test_snapshot_of_a_roll_is_written_before_the_recovery_point_passes_the_roll(
    rolled: LogFlusherHarness,
) -> None:
    pending = rolled.flush()
    states = [(snapshots_in(rolled), rolled.recovery_point, pending.done())]
    for _ in range(2):
        rolled.worker.go_on()
        states.append((snapshots_in(rolled), rolled.recovery_point, pending.done()))

    assert states == [([], 0, False), (["3.snapshot"], 0, False), (["3.snapshot"], 3, True)]


def test_owner_writes_no_snapshot_and_syncs_no_file(rolled: LogFlusherHarness) -> None:
    script = rolled.logs.files.script
    for call in ("append", "pwrite", "sync*"):
        script.add(FileFault(on=call, path="*snapshot*", times=99))
    pending = rolled.flush()

    script.reset()
    rolled.worker.go_on()
    armed = script.add(FileFault(on="sync*", times=99))
    lead(rolled.log, produced(1))
    rolled.log.roll()
    rolled.flush()
    script.remove(armed)
    rolled.worker.go_on()

    assert pending.exception() is None


def test_flushed_snapshot_survives_a_crash(rolled: LogFlusherHarness) -> None:
    rolled.flush()
    rolled.worker.go_on()
    rolled.worker.go_on()

    left = rolled.logs.files.after_crash()

    assert f"{3:020}.snapshot" in left.list(rolled.log.directory)


def test_snapshot_without_space_is_dropped_and_the_records_are_flushed(
    rolled: LogFlusherHarness,
) -> None:
    fault = FileFault(on="append", path="*snapshot*", code=errno.ENOSPC)
    rolled.logs.files.script.add(fault)

    pending = rolled.flush()
    rolled.worker.go_on()
    rolled.worker.go_on()

    assert (pending.exception(), rolled.recovery_point) == (None, 3)
    assert snapshots_in(rolled) == []
    assert rolled.manager.has(rolled.log)


@pytest.mark.parametrize("fault", ("append", "sync", "rename"))
def test_snapshot_on_a_failing_disk_takes_the_directory_offline(
    rolled: LogFlusherHarness, fault: str
) -> None:
    rolled.logs.files.script.add(FileFault(on=fault, path="*snapshot*"))

    pending = rolled.flush()
    rolled.worker.go_on()

    assert isinstance(pending.exception(), KafkaStorageError)
    assert not rolled.manager.has(rolled.log)


def test_snapshot_is_saved_later_when_descriptors_are_missing(rolled: LogFlusherHarness) -> None:
    rolled.logs.files.script.add(FileFault(on="create", path="*snapshot*", code=errno.EMFILE))
    refused = rolled.flush()
    rolled.worker.go_on()

    again = rolled.flush()
    rolled.worker.go_on()
    rolled.worker.go_on()

    assert isinstance(refused.exception(), KafkaStorageError)
    assert (again.exception(), snapshots_in(rolled)) == (None, ["3.snapshot"])


def test_snapshot_of_a_truncated_roll_is_not_written(rolled: LogFlusherHarness) -> None:
    pending = rolled.flush()
    rolled.log.truncate_to(1)

    for _ in range(3):
        rolled.worker.go_on()

    assert pending.exception() is None
    assert "3.snapshot" not in snapshots_in(rolled)


def test_snapshot_of_a_deleted_log_is_not_written(rolled: LogFlusherHarness) -> None:
    pending = rolled.flush()
    log_renames.delete(rolled.manager, partition())

    rolled.worker.go_on()

    assert isinstance(pending.exception(), KafkaStorageError)
    assert snapshots_in(rolled) == []
    assert rolled.manager.directories[0].is_online
