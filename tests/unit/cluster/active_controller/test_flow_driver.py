"""Tests of the driver of flows."""

import asyncio
import threading

import pytest

from cordwood.client.network.runtime import LoopTurn
from cordwood.cluster.active_controller.flow_driver import on_worker, run_flow
from cordwood.cluster.controller.effects import (
    DropRequestedElections,
    Effect,
    Flow,
    ReadBrokers,
    ReadDeletions,
    perform,
)
from cordwood.core.errors import StaleControllerEpochError
from cordwood.core.ports import Worker
from cordwood.core.system import ThreadWorker
from cordwood.testing.inline_worker import InlineWorker


def two_reads(ends: list[str] | None = None) -> Flow[int]:
    try:
        brokers = yield from perform(ReadBrokers())
        deletions = yield from perform(ReadDeletions())
        return len(brokers) + len(deletions)
    finally:
        if ends is not None:
            ends.append("ended")


async def _results(effect: Effect[object]) -> object:
    return [1, 2] if isinstance(effect, ReadBrokers) else ["t"]


def test_results_of_effects_are_sent_back() -> None:
    assert asyncio.run(run_flow(two_reads(), _results)) == 3


def test_error_of_an_effect_ends_the_flow() -> None:
    async def fail(_: Effect[object]) -> object:
        raise StaleControllerEpochError("a later one")

    ends = list[str]()
    with pytest.raises(StaleControllerEpochError):
        asyncio.run(run_flow(two_reads(ends), fail))

    assert ends == ["ended"]


def test_flow_may_handle_an_error() -> None:
    def careful() -> Flow[str]:
        try:
            yield from perform(ReadBrokers())
        except StaleControllerEpochError:
            yield from perform(DropRequestedElections())
        return "handled"

    async def fail(effect: Effect[object]) -> object:
        if isinstance(effect, ReadBrokers):
            raise StaleControllerEpochError("a later one")
        return None

    assert asyncio.run(run_flow(careful(), fail)) == "handled"


def test_cancelled_flow_has_no_further_effect() -> None:
    async def scene() -> list[Effect[object]]:
        waiting, begun = asyncio.Event(), list[Effect[object]]()

        async def wait(effect: Effect[object]) -> object:
            begun.append(effect)
            return await waiting.wait()

        task = asyncio.ensure_future(run_flow(two_reads(), wait))
        await asyncio.wait([task], timeout=0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        return begun

    assert asyncio.run(scene()) == [ReadBrokers()]


def test_loop_turns_while_a_step_runs_on_a_worker() -> None:
    """The step ends only once another task of the loop has run after its begin."""
    has_begun, has_turned = threading.Event(), threading.Event()

    def long() -> Flow[bool]:
        yield from perform(ReadBrokers())
        has_begun.set()
        return has_turned.wait(60)

    async def turn() -> None:
        while not has_begun.is_set():
            await LoopTurn()
        has_turned.set()

    async def scene(worker: Worker) -> bool:
        flow = run_flow(long(), _results, advance=on_worker(worker))
        return (await asyncio.gather(flow, turn()))[0]

    worker = ThreadWorker()
    try:
        assert asyncio.run(scene(worker))
    finally:
        worker.close()


def test_error_on_a_worker_ends_the_flow() -> None:
    async def fail(_: Effect[object]) -> object:
        raise StaleControllerEpochError("a later one")

    with pytest.raises(StaleControllerEpochError):
        asyncio.run(run_flow(two_reads(), fail, advance=on_worker(InlineWorker())))


def test_other_tasks_run_between_effects() -> None:
    """Effects that wait for nothing would hold up the loop."""

    async def scene() -> list[int]:
        turns = list[int]()

        def many() -> Flow[None]:
            for _ in range(10):
                turns.append(0)
                yield from perform(ReadBrokers())

        async def count() -> None:
            while len(turns) < 20:
                turns.append(1)
                await asyncio.sleep(0)

        await asyncio.gather(run_flow(many(), _results), count())
        return turns

    assert asyncio.run(scene())[:6] == [0, 1, 0, 1, 0, 1]
