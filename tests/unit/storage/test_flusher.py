"""Logs are flushed elsewhere, many askers at a time, and nobody is told of what did not happen."""

import errno
import threading
from concurrent.futures import Future

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Pending
from cordwood.core.system import ThreadWorker
from cordwood.storage.flusher import Flusher
from cordwood.testing.faults import Fault
from tests.unit.storage.log_samples import batch, filled, follow, lead
from tests.unit.storage.manager_samples import HeldWorker, House, made, partition


class Mill:
    """A log with records, and a flusher whose worker waits to be told."""

    def __init__(self) -> None:
        self.house = House()
        self.worker = HeldWorker()
        self.manager = self.house.load(self.worker)
        self.log = filled(made(self.manager)[0], 2)
        self.flusher = Flusher(self.manager)

    def flush(self) -> Pending[None]:
        return self.flusher.flush(self.log)

    def fail(self, code: int) -> None:
        """Let the next sync of the log fail."""
        self.house.files.script.add(Fault(on="sync", path="/a/orders-0/*", code=code))

    @property
    def recovery_point(self) -> int:
        return self.log.bounds.recovery_point


@pytest.fixture
def mill() -> Mill:
    return Mill()


def test_flush_is_done_when_the_worker_has_done_it(mill: Mill) -> None:
    pending = mill.flush()
    before = (pending.done(), mill.recovery_point)
    mill.worker.go_on()

    assert before == (False, 0)
    assert (pending.done(), mill.recovery_point) == (True, 2)


def test_flush_tells_how_long_it_took(mill: Mill) -> None:
    took = list[float]()
    flusher = Flusher(mill.manager, flushed=took.append)

    flusher.flush(mill.log)
    mill.house.clock.advance(ms=7)
    mill.worker.go_on()

    assert took == [7]


def test_flush_of_what_is_durable_is_done_at_once(mill: Mill) -> None:
    mill.log.flush()

    assert mill.flush().done()
    assert mill.worker.held == []


def test_one_who_gives_up_does_not_keep_the_others_waiting(mill: Mill) -> None:
    first, second, third = (mill.flush() for _ in range(3))
    assert isinstance(first, Future)
    assert isinstance(second, Future)

    first.cancel()
    second.cancel()
    mill.worker.go_on()
    mill.worker.go_on()

    assert third.done()
    assert mill.recovery_point == 2


def test_those_who_ask_meanwhile_share_the_next_flush(mill: Mill) -> None:
    first = mill.flush()
    lead(mill.log, batch())
    others = [mill.flush(), mill.flush()]

    mill.worker.go_on()
    between = (first.done(), [pending.done() for pending in others], len(mill.worker.held))
    mill.worker.go_on()

    assert between == (True, [False, False], 1)
    assert all(pending.done() for pending in others)
    assert mill.recovery_point == 3


@pytest.mark.parametrize("code", (errno.EIO, errno.ENOSPC))
def test_failed_sync_takes_the_directory_offline_and_is_told_to_all(mill: Mill, code: int) -> None:
    mill.fail(code)
    pendings = [mill.flush(), mill.flush()]

    mill.worker.go_on()

    for pending in pendings:
        with pytest.raises(KafkaStorageError):
            pending.result()
    assert not mill.manager.has(mill.log)
    assert mill.recovery_point == 0


def test_flush_is_refused_and_may_be_asked_for_again_when_descriptors_are_missing(
    mill: Mill,
) -> None:
    mill.house.files.script.add(Fault(on="open", path="*.log", code=errno.EMFILE))
    refused = mill.flush()
    mill.worker.go_on()

    again = mill.flush()
    mill.worker.go_on()

    assert isinstance(refused.exception(), KafkaStorageError)
    assert (again.exception(), mill.recovery_point) == (None, 2)


def test_flush_of_a_log_that_is_offline_is_refused(mill: Mill) -> None:
    mill.manager.fail(mill.manager.directories[0], OSError(errno.EIO, "gone"))

    with pytest.raises(KafkaStorageError, match="orders-0 is offline or deleted"):
        mill.flush().result()


def test_deleting_a_log_while_it_is_flushed_costs_no_directory(mill: Mill) -> None:
    pending = mill.flush()
    mill.manager.delete(partition())

    mill.worker.go_on()

    with pytest.raises(KafkaStorageError, match="orders-0 is offline or deleted"):
        pending.result()
    assert mill.manager.directories[0].is_online


def test_log_that_is_cut_while_it_is_flushed_is_flushed_again(mill: Mill) -> None:
    pending = mill.flush()
    mill.manager.truncate({partition(): 1})
    lead(mill.log, batch(), batch())

    mill.worker.go_on()
    between = (pending.done(), mill.recovery_point)
    mill.worker.go_on()

    assert between == (False, 0)
    assert (pending.done(), mill.recovery_point) == (True, 3)


def test_copy_that_is_promoted_while_it_is_flushed_is_flushed_again(mill: Mill) -> None:
    copy = mill.manager.create_future(partition(), mill.manager.directories[1])
    follow(copy, batch(at=0))
    pending = mill.flusher.flush(copy)
    mill.manager.promote(partition())
    follow(copy, batch(at=1))

    mill.worker.go_on()
    mill.worker.go_on()

    assert (pending.exception(), copy.bounds.recovery_point) == (None, 2)


def test_closed_flusher_has_done_all_that_was_asked_for() -> None:
    worker, gate, house = ThreadWorker(threads=2), threading.Event(), House()
    manager = house.load(worker)
    log = filled(made(manager)[0], 2)
    flusher = Flusher(manager)
    worker.submit(gate.wait)

    pendings = [flusher.flush(log), flusher.flush(log)]
    gate.set()
    flusher.close()
    worker.close()

    assert [pending.done() for pending in pendings] == [True, True]
    assert log.bounds.recovery_point == 2
