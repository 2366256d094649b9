"""Results that are collected in several turns of the loop."""

import asyncio

from cordwood.broker.pending_results import next_turn
from tests.unit.broker.broker_samples import run
from tests.unit.broker.test_loop_turns import stepping_turns


def test_collected_results_are_in_order_and_take_several_turns() -> None:
    others = list[int]()

    async def count_turns() -> None:
        while True:
            others.append(len(others))
            await next_turn()

    async def scene() -> list[int]:
        counting = asyncio.get_running_loop().create_task(count_turns())
        results = await stepping_turns().collect(lambda each: each * 2, range(50))
        counting.cancel()
        return results

    assert run(scene()) == [*range(0, 100, 2)]
    assert len(others) > 2
