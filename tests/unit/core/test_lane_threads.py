"""Threads of a lane: an idle one for the next call, and none more than are allowed."""

import gc
import threading
import weakref

import pytest

from cordwood.core.lane_threads import LaneThreads
from cordwood.core.ports import Lane


class StartedThreads:
    """The threads of lanes that were started since this object was made."""

    def __init__(self) -> None:
        self._before = {*threading.enumerate()}

    def __len__(self) -> int:
        return sum(each.name.startswith("cordwood-read-") for each in self._new())

    def _new(self) -> set[threading.Thread]:
        return {*threading.enumerate()} - self._before


def test_ready_lane_starts_no_thread_in_submit(monkeypatch: pytest.MonkeyPatch) -> None:
    starters: list[threading.Thread] = []
    start = threading.Thread.start

    def note(thread: threading.Thread) -> None:
        starters.append(threading.current_thread())
        start(thread)

    lane, together = LaneThreads(Lane.READ, 4), threading.Barrier(4)
    lane.ensure_idle()
    monkeypatch.setattr(threading.Thread, "start", note)

    pending = [lane.submit(lambda: together.wait(10)) for _ in range(8)]
    for each in pending:
        each.result()
    lane.close()

    assert len(starters) == 3
    assert threading.current_thread() not in starters


def test_calls_overlap_up_to_the_number_of_threads() -> None:
    threads = StartedThreads()
    lane, together = LaneThreads(Lane.READ, 3), threading.Barrier(3)

    met = [lane.submit(lambda: together.wait(10)) for _ in range(6)]

    assert sorted(each.result() for each in met) == [0, 0, 1, 1, 2, 2]
    assert len(threads) == 3
    lane.close()
    assert len(threads) == 0


def test_one_thread_has_no_idle_one_beside_it() -> None:
    threads, lane = StartedThreads(), LaneThreads(Lane.READ, 1)

    lane.submit(bool).result()

    assert len(threads) == 1
    lane.close()


def test_calls_are_taken_by_the_threads_there_are_if_the_system_starts_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lane, start = LaneThreads(Lane.READ, 3), threading.Thread.start
    lane.submit(bool).result()

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    pairs = threading.Barrier(2)
    met = [lane.submit(lambda: pairs.wait(5)) for _ in range(4)]
    by_two = sorted(each.result(10) for each in met)
    monkeypatch.setattr(threading.Thread, "start", start)
    triples = threading.Barrier(3)
    met = [lane.submit(lambda: triples.wait(5)) for _ in range(3)]

    assert (by_two, sorted(each.result(10) for each in met)) == ([0, 0, 1, 1], [0, 1, 2])
    lane.close()


def test_first_call_is_rejected_if_the_system_starts_no_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lane = LaneThreads(Lane.READ, 3)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            lane.submit(bool)

    assert lane.submit(lambda: 7).result(10) == 7
    lane.close()


def test_close_waits_for_all_calls() -> None:
    lane, gate = LaneThreads(Lane.READ, 1), threading.Event()
    pending = [lane.submit(gate.wait) for _ in range(3)]
    threading.Thread(target=gate.set).start()

    lane.close()

    assert all(each.done() for each in pending)


def test_cancelled_call_is_skipped() -> None:
    lane, gate, seen = LaneThreads(Lane.READ, 1), threading.Event(), list[int]()
    lane.submit(gate.wait)
    cancelled = lane.submit(lambda: seen.append(1))

    cancelled.cancel()
    gate.set()
    lane.close()

    assert (cancelled.cancelled(), seen) == (True, [])


def test_error_of_a_call_is_in_its_future_and_the_thread_continues() -> None:
    lane = LaneThreads(Lane.READ, 1)

    failed, following = lane.submit(lambda: 1 // 0), lane.submit(lambda: 2)

    assert isinstance(failed.exception(), ZeroDivisionError)
    assert following.result() == 2
    lane.close()


def test_closed_lane_rejects_calls() -> None:
    lane = LaneThreads(Lane.READ, 1)
    lane.close()

    with pytest.raises(RuntimeError, match="shutdown"):
        lane.submit(bool)


class FailingCall:
    """A call that raises an error."""

    def __call__(self) -> None:
        raise OSError("the call has failed")


def test_failed_call_is_freed_with_its_future_without_the_garbage_collector() -> None:
    lane, call = LaneThreads(Lane.READ, 1), FailingCall()
    freed = weakref.ref(call)

    gc.disable()
    try:
        lane.submit(call)
        del call
        lane.close()
        assert freed() is None
    finally:
        gc.enable()
