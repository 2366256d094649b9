"""Logs are flushed on the worker; a request is done only when its records are durable."""

import errno
import threading
from concurrent.futures import Future

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Pending
from cordwood.core.system import ThreadWorker
from cordwood.storage.manager import log_renames
from cordwood.storage.manager.log_flusher import LogFlusher
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.log_samples import batch, filled, follow, lead
from tests.unit.storage.manager_samples import (
    HeldWorker,
    LogManagerHarness,
    create_future_log,
    create_logs,
    partition,
)


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
    harness.manager.truncate({partition(): 1})
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


def test_closed_flusher_has_completed_all_requests() -> None:
    worker, gate, harness = ThreadWorker(threads=2), threading.Event(), LogManagerHarness()
    manager = harness.load(worker)
    log = filled(create_logs(manager)[0], 2)
    flusher = LogFlusher(manager)
    worker.submit(gate.wait)

    pendings = [flusher.flush(log), flusher.flush(log)]
    gate.set()
    flusher.close()
    worker.close()

    assert [pending.done() for pending in pendings] == [True, True]
    assert log.bounds.recovery_point == 2
