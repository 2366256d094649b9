"""Results of worker calls, awaited on the event loop."""

import asyncio
from collections.abc import Callable, Iterator
from types import coroutine
from typing import Generic, TypeVar

from cordwood.core.ports import Pending

T = TypeVar("T")


class Completed(Generic[T]):
    """A result that exists already, as a `Pending`: a future costs ten times as much."""

    __slots__ = ("_result",)

    def __init__(self, result: T) -> None:
        self._result = result

    def done(self) -> bool:
        return True

    def result(self) -> T:
        return self._result

    def exception(self) -> BaseException | None:
        return None

    def add_done_callback(self, call: Callable[[Pending[T]], object], /) -> None:
        call(self)


async def wait_for(pending: Pending[T]) -> T:
    """Wait without blocking the loop; return the result or raise the error.

    A cancellation ends the wait, not the call.
    """
    await wait_until_done(pending)
    try:
        return pending.result()
    finally:
        del pending  # its error would refer to itself by this frame


async def wait_until_done(pending: Pending[object]) -> None:
    """Wait without blocking the loop; an error of the call is not raised."""
    if not pending.done():
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        pending.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set))
        await ended.wait()


@coroutine
def next_turn() -> Iterator[None]:
    """Give other tasks a turn of the loop, which then continues this one."""
    yield
