"""Clock, scheduler and random source of a client, and waits that depend on them alone."""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from typing import NamedTuple, TypeVar

from cordwood.core.ports import Clock, Random, Scheduler
from cordwood.core.system import LoopScheduler, SystemClock, SystemRandom

T = TypeVar("T")


def system_runtime() -> "ClientRuntime":
    """Return the operating system's runtime for the running loop, the default of every client."""
    clock = SystemClock()
    scheduler = LoopScheduler(asyncio.get_running_loop(), clock)
    return ClientRuntime(clock, scheduler, SystemRandom())


class ClientRuntime(NamedTuple):
    """Ports of a client: a clock, a scheduler on that clock, and a random source."""

    clock: Clock
    scheduler: Scheduler
    random: Random

    def now_ms(self) -> float:
        """Return the monotonic time, for durations."""
        return self.clock.monotonic_ms()

    async def sleep_ms(self, ms: float) -> None:
        """Return after this many milliseconds."""
        elapsed = asyncio.get_running_loop().create_future()
        timer = self.scheduler.call_at(self.now_ms() + ms, lambda: resolve(elapsed))
        try:
            await elapsed
        finally:
            timer.cancel()

    async def run_with_timeout(
        self,
        ms: float,
        work: Coroutine[object, object, T],
        *,
        timeout_error: Callable[[], Exception],
    ) -> T:
        """Return the result of `work`; after `ms`, cancel it and raise `timeout_error()`."""
        task = asyncio.get_running_loop().create_task(work)
        is_late = False

        def time_out() -> None:
            nonlocal is_late
            is_late = task.cancel()

        timer = self.scheduler.call_at(self.now_ms() + ms, time_out)
        try:
            return await task
        except asyncio.CancelledError:
            if is_late:
                raise timeout_error() from None
            raise
        finally:
            timer.cancel()

    async def first_result(
        self,
        attempts: Iterable[Callable[[], Coroutine[object, object, T]]],
        *,
        patience_ms: float,
        skipped: tuple[type[Exception], ...],
    ) -> T:
        """Return the first result; after `patience_ms` without one, the next attempt joins.

        An error of a class in `skipped` ends its attempt alone, and the last one is raised if all
        attempts fail. Every other error is raised at once.
        """
        waiting = iter(attempts)
        running: list[asyncio.Task[T]] = []
        reason: BaseException = AssertionError("there is at least one attempt")
        until_ms: float | None = self.now_ms()
        try:
            while True:
                is_due = until_ms is not None and (not running or self.now_ms() >= until_ms)
                if is_due and (attempt := next(waiting, None)) is not None:
                    running.append(asyncio.get_running_loop().create_task(attempt()))
                    until_ms = self.now_ms() + patience_ms
                elif is_due:
                    until_ms = None
                if not running:
                    raise reason
                task = await self._first_done(running, until_ms)
                if task is None:
                    continue
                running.remove(task)
                error = task.exception()
                if not isinstance(error, skipped):
                    return task.result()
                reason = error
        finally:
            for each in running:
                each.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _first_done(
        self, tasks: Sequence[asyncio.Task[T]], until_ms: float | None
    ) -> asyncio.Task[T] | None:
        """Return a task that has ended; None if the time is reached before."""
        elapsed = asyncio.get_running_loop().create_future()
        timer = None
        if until_ms is not None:
            timer = self.scheduler.call_at(until_ms, lambda: resolve(elapsed))
        try:
            await asyncio.wait((*tasks, elapsed), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if timer is not None:
                timer.cancel()
        return next((each for each in tasks if each.done()), None)


class LoopTurn:
    """Awaitable that lets every other ready task on the loop run once."""

    def __await__(self) -> Generator[None, None, None]:
        yield


def resolve(future: asyncio.Future[None]) -> None:
    """Resolve a future, unless it is done or cancelled."""
    if not future.done():
        future.set_result(None)


async def completion_of(future: asyncio.Future[None]) -> None:
    """Wait for a future, as the coroutine that `run_with_timeout` needs."""
    await future
