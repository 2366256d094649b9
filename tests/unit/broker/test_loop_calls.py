"""Calls on the event loop for results of workers."""

import asyncio
import threading
from functools import partial
from itertools import pairwise

from cordwood.broker.loop_calls import LoopCalls
from cordwood.broker.pending_results import next_turn
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.test_loop_turns import SteppingClock

CALLS = 1_000
#: A step of the clock is a tenth of a turn, except for rounding.
MOST_PER_TURN = 11


def test_thousands_of_calls_take_several_turns() -> None:
    async def run() -> None:
        calls, sizes = list[int](), list[int]()
        loop_calls = LoopCalls(SteppingClock())

        for number in range(CALLS):
            loop_calls.call_soon(partial(calls.append, number))
        while len(calls) < CALLS:
            await next_turn()
            sizes.append(len(calls))

        assert calls == [*range(CALLS)]
        steps = [after - before for before, after in pairwise([0, *sizes])]
        assert 0 < min(steps) <= max(steps) <= MOST_PER_TURN

    asyncio.run(run())


def test_call_that_a_call_adds_has_a_later_turn() -> None:
    async def run() -> None:
        calls = list[str]()
        loop_calls = LoopCalls(VirtualClock())

        loop_calls.call_soon(lambda: loop_calls.call_soon(lambda: calls.append("second")))
        loop_calls.call_soon(lambda: calls.append("first"))
        await next_turn()
        assert calls == ["first"]

        await next_turn()
        assert calls == ["first", "second"]

    asyncio.run(run())


def test_error_of_a_call_goes_to_the_loop_and_delays_the_others_by_a_turn() -> None:
    async def run() -> None:
        errors, calls = list[object](), list[str]()
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: errors.append(context["exception"])
        )
        loop_calls = LoopCalls(VirtualClock())
        error = ValueError("a call")

        def fail() -> None:
            raise error

        loop_calls.call_soon(fail)
        loop_calls.call_soon(lambda: calls.append("after it"))
        await next_turn()
        await next_turn()

        assert (errors, calls) == ([error], ["after it"])

    asyncio.run(run())


def test_no_call_of_another_thread_is_missed() -> None:
    async def run() -> None:
        counts = [0] * 4
        loop_calls = LoopCalls(VirtualClock())

        def count(thread: int) -> None:
            counts[thread] += 1

        def add(thread: int) -> None:
            for _ in range(CALLS):
                loop_calls.call_soon(partial(count, thread))

        threads = [threading.Thread(target=add, args=[number]) for number in range(len(counts))]
        for each in threads:
            each.start()
        while counts != [CALLS] * len(counts):
            await next_turn()
        for each in threads:
            each.join()

    asyncio.run(run())
