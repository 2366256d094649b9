"""Tests of the driver of flows."""

import asyncio

import pytest

from cordwood.cluster.active_controller.flow_driver import run_flow
from cordwood.cluster.controller.effects import (
    DropRequestedElections,
    Effect,
    Flow,
    ReadBrokers,
    ReadDeletions,
    perform,
)
from cordwood.core.errors import StaleControllerEpochError


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


def test_cancellation_ends_the_flow() -> None:
    async def scene() -> list[str]:
        waiting = asyncio.Event()

        async def wait(_: Effect[object]) -> object:
            return await waiting.wait()

        ends = list[str]()
        task = asyncio.ensure_future(run_flow(two_reads(ends), wait))
        await asyncio.wait([task], timeout=0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        return ends

    assert asyncio.run(scene()) == ["ended"]


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
