"""Tests of the heap of waiters."""

from functools import partial

from cordwood.broker.partitions.offset_waiters import OffsetWaiters
from cordwood.storage.log.log_read import LogPosition


def test_waiters_are_called_once_in_the_order_of_their_offsets() -> None:
    waiters, calls = OffsetWaiters[int](), list[str]()
    for offset, name in ((7, "c"), (5, "a"), (5, "b"), (9, "d")):
        waiters.add(offset, partial(calls.append, name))

    waiters.reach(4)
    first = [*calls]
    waiters.reach(8)
    waiters.reach(8)

    assert (first, calls, len(waiters)) == ([], ["a", "b", "c"], 1)


def test_waiter_that_is_added_by_a_call_waits_for_the_next_turn() -> None:
    waiters, calls = OffsetWaiters[int](), list[str]()
    waiters.add(1, lambda: waiters.add(1, lambda: calls.append("second")))

    waiters.reach(1)
    before = [*calls]
    for waiter in waiters.take_all():
        waiter.wake()

    assert (before, calls) == ([], ["second"])


def test_cancelled_waiter_is_not_called() -> None:
    waiters, calls = OffsetWaiters[int](), list[str]()
    waiter = waiters.add(1, lambda: calls.append("cancelled"))
    waiters.add(1, lambda: calls.append("kept"))

    waiters.cancel(waiter)
    waiters.cancel(waiter)
    waiting = len(waiters)
    waiters.reach(1)
    waiters.cancel(waiter)

    assert (waiting, calls, len(waiters)) == (1, ["kept"], 0)


def test_waiter_waits_until_it_is_taken_or_cancelled() -> None:
    waiters = OffsetWaiters[int]()
    first, second, third = (waiters.add(each, lambda: None) for each in (1, 2, 2))
    before = [each.is_waiting for each in (first, second, third)]

    waiters.take(1)
    second.cancel()

    assert before == [True] * 3
    assert [each.is_waiting for each in (first, second, third)] == [False, False, True]
    assert len(waiters) == 1


def test_cancelled_waiters_do_not_fill_the_heap() -> None:
    waiters, calls = OffsetWaiters[int](), list[int]()
    waiters.add(5, lambda: calls.append(5))

    for _ in range(10_000):
        waiters.cancel(waiters.add(9, lambda: calls.append(9)))

    assert (len(waiters), len(waiters._heap) < 100) == (1, True)  # noqa: SLF001 - the memory
    for waiter in waiters.take_all():
        waiter.wake()
    assert calls == [5]


def test_taken_waiter_may_still_be_cancelled_and_counts_no_more() -> None:
    waiters, calls = OffsetWaiters[int](), list[str]()
    first = waiters.add(1, lambda: calls.append("first"))
    waiters.add(2, lambda: calls.append("second"))

    taken = waiters.take(1)
    waiters.cancel(first)
    for waiter in taken:
        waiter.wake()

    assert (len(taken), calls, len(waiters)) == (1, [], 1)


def test_waiter_that_was_cancelled_before_it_is_taken_is_not_called() -> None:
    waiters, calls = OffsetWaiters[int](), list[str]()
    waiters.cancel(waiters.add(1, lambda: calls.append("cancelled")))

    for waiter in waiters.take_all():
        waiter.wake()

    assert (calls, len(waiters)) == ([], 0)


def test_waiters_for_places_in_a_log_are_called_at_a_later_segment() -> None:
    waiters, calls = OffsetWaiters[LogPosition](), list[str]()
    waiters.add(LogPosition(0, 1 << 31), lambda: calls.append("rolled"))

    waiters.reach(LogPosition(0, 1 << 30))
    before = [*calls]
    waiters.reach(LogPosition(7, 0))

    assert (before, calls) == ([], ["rolled"])
