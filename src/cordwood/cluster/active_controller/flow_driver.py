"""Driver of a flow: each effect is performed, and its result sent back (`controller.effects`).

    step of the flow ──► effect ──► performed ──► result ──► step ... ──► returned value

An error of an effect is thrown into the flow, and ends it. Between two effects every other task of
the loop runs once. A step about 10,000 partitions takes 150 ms, so steps about many partitions run
on a worker: the flow is the only user of its context, whichever thread it is on.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar, cast

from cordwood.client.network.runtime import LoopTurn
from cordwood.cluster.controller.effects import Effect, Flow
from cordwood.core.ports import Lane, Pending, Worker

T = TypeVar("T")


class _Returned(NamedTuple, Generic[T]):
    """The value that a flow has returned."""

    value: T


class Advance(Protocol):
    """Runs a step of a flow somewhere, and returns its result."""

    async def __call__(self, step: Callable[[], T]) -> T:
        """Run the step once. A cancellation ends the wait; the step may still run then."""


async def on_the_loop(step: Callable[[], T]) -> T:
    """Run a step at once."""
    return step()


def on_worker(worker: Worker) -> Advance:
    """Return a function that runs steps on a worker."""

    async def advance(step: Callable[[], T]) -> T:
        pending = worker.submit(step, lane=Lane.COMPUTE)
        await _done(pending)
        return pending.result()

    return advance


async def run_flow(
    flow: Flow[T],
    perform: Callable[[Effect[object]], Awaitable[object]],
    *,
    advance: Advance = on_the_loop,
) -> T:
    """Run a flow to its end; return its result. A cancellation ends it after an effect."""
    step = partial(flow.send, None)
    while True:
        effect = await advance(partial(_advanced, step))
        if isinstance(effect, _Returned):
            return cast("T", effect.value)
        try:
            result = await perform(effect)
            await LoopTurn()
        except Exception as error:  # noqa: BLE001 - the flow decides, and raises it again
            step = partial(flow.throw, error)
        else:
            step = partial(flow.send, result)


def _advanced(step: Callable[[], Effect[object]]) -> Effect[object] | _Returned[object]:
    """Run a step; a worker cannot return StopIteration as an error."""
    try:
        return step()
    except StopIteration as stop:
        return _Returned(stop.value)


async def _done(pending: Pending[object]) -> None:
    if not pending.done():
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        pending.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set))
        await ended.wait()
