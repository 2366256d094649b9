"""Tests of the queue of waiting fetches."""

from collections.abc import Callable
from functools import partial

from cordwood.broker.partitions.fetch_wakes import WAKES_PER_TURN, FetchWakes
from cordwood.broker.partitions.offset_waiters import OffsetWaiter, OffsetWaiters


def waiters(calls: list[int], count: int) -> list[OffsetWaiter]:
    found = OffsetWaiters[int]()
    for number in range(count):
        found.add(1, partial(calls.append, number))
    return found.take(1)


def test_thousands_of_fetches_wake_in_several_turns() -> None:
    turns, calls, sizes = list[Callable[[], object]](), list[int](), list[int]()
    wakes = FetchWakes(turns.append)

    wakes.add(waiters(calls, 3_000))
    while turns:
        sizes.append(len(calls))
        turns.pop()()

    assert calls == [*range(3_000)]
    assert sizes == [*range(WAKES_PER_TURN, 3_001, WAKES_PER_TURN)]


def test_fetches_of_several_partitions_share_the_turns() -> None:
    turns, calls = list[Callable[[], object]](), list[int]()
    wakes = FetchWakes(turns.append)

    for _ in range(100):
        wakes.add(waiters(calls, 5))

    assert (len(calls), len(turns)) == (5, 1)
    turns.pop()()
    assert len(calls) == 5 + WAKES_PER_TURN


def test_fetch_that_is_cancelled_before_its_turn_does_not_wake() -> None:
    turns, calls = list[Callable[[], object]](), list[int]()
    wakes, taken = FetchWakes(turns.append), waiters(calls, WAKES_PER_TURN + 2)

    wakes.add(taken)
    taken[-2].call = None
    turns.pop()()

    assert calls[WAKES_PER_TURN:] == [WAKES_PER_TURN + 1]
