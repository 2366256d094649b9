"""Driver of a flow: each effect is performed, and its result sent back (`controller.effects`).

An error of an effect is thrown into the flow, and ends it. Between two effects every other task of
the loop runs once, so a flow with many effects does not hold up the loop.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from cordwood.client.network.runtime import LoopTurn
from cordwood.cluster.controller.effects import Effect, Flow

T = TypeVar("T")


async def run_flow(flow: Flow[T], perform: Callable[[Effect[object]], Awaitable[object]]) -> T:
    """Run a flow to its end; return its result. A cancellation ends it after an effect."""
    try:
        effect = next(flow)
        while True:
            try:
                result = await perform(effect)
                await LoopTurn()
            except Exception as error:  # noqa: BLE001 - the flow decides, and raises it again
                effect = flow.throw(error)
            else:
                effect = flow.send(result)
    except StopIteration as stop:
        returned: T = stop.value
        return returned
    finally:
        flow.close()
