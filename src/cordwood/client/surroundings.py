"""What a client asks of the machine, time and chance, and how it waits by that time alone."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import NamedTuple, TypeVar

from cordwood.core.ports import Clock, Random, Scheduler

T = TypeVar("T")


class Surroundings(NamedTuple):
    """A clock, the scheduler whose `call_at` goes by it, and chance."""

    clock: Clock
    scheduler: Scheduler
    random: Random

    def now_ms(self) -> float:
        """Return the time that durations are measured in."""
        return self.clock.monotonic_ms()

    async def pause(self, ms: float) -> None:
        """Return after so long."""
        rung = asyncio.get_running_loop().create_future()
        timer = self.scheduler.call_at(self.now_ms() + ms, lambda: ring(rung))
        try:
            await rung
        finally:
            timer.cancel()

    async def within(
        self,
        ms: float,
        work: Coroutine[object, object, T],
        *,
        late: Callable[[], Exception],
    ) -> T:
        """Return what the work returns; after so long it is cancelled, and `late` says why."""
        task = asyncio.get_running_loop().create_task(work)
        is_late = False

        def give_up() -> None:
            nonlocal is_late
            is_late = task.cancel()

        timer = self.scheduler.call_at(self.now_ms() + ms, give_up)
        try:
            return await task
        except asyncio.CancelledError:
            if is_late:
                raise late() from None
            raise
        finally:
            timer.cancel()


class Turn:
    """Awaited, lets everything else on the loop have its turn once."""

    def __await__(self) -> Generator[None, None, None]:
        yield


def ring(bell: asyncio.Future[None]) -> None:
    """End a future that somebody may be waiting for, or may have given up."""
    if not bell.done():
        bell.set_result(None)


async def until(bell: asyncio.Future[None]) -> None:
    """Wait for a future, as `within` wants it."""
    await bell
