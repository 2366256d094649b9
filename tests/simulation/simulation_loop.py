"""Event loop without sockets, threads and time: callbacks run in the order of their requests.

A loop with a selector would take most of the time of a simulation. This one has what tasks and
futures need; everything else raises NotImplementedError.
"""

import asyncio
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import TypeVar

T = TypeVar("T")


class SimulationLoop(asyncio.AbstractEventLoop):
    """A loop whose owner decides when the callbacks run."""

    def __init__(self) -> None:
        #: Errors that no task has handled.
        self.errors = list[BaseException]()
        self._ready = deque[tuple[Callable[..., object], tuple[object, ...]]]()
        self._context = Context()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Be the running loop of this thread."""
        # asyncio has this function for the implementers of loops.
        events._set_running_loop(self)  # noqa: SLF001  no public name
        try:
            yield
        finally:
            events._set_running_loop(None)  # noqa: SLF001  as above

    def run_ready(self) -> None:
        """Run callbacks until none is ready."""
        ready, run = self._ready, self._context.run
        while ready:
            callback, arguments = ready.popleft()
            run(callback, *arguments)

    def call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        self._ready.append((callback, args))
        return _HANDLE

    call_soon_threadsafe = call_soon

    def create_future(self) -> "asyncio.Future[T]":
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Coroutine[object, object, T] | Generator[object, None, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        return asyncio.Task(coro, loop=self)  # type: ignore[arg-type]  # no generators here

    def call_exception_handler(self, context: dict[str, object]) -> None:
        """Keep an error; a message without one is about a task that a crash has left behind."""
        error = context.get("exception")
        if isinstance(error, BaseException):
            self.errors.append(error)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False


class _NoLoop(asyncio.AbstractEventLoop):
    def get_debug(self) -> bool:
        return False


#: Callbacks are not cancelled here: tasks and futures cancel themselves.
_HANDLE = asyncio.Handle(lambda: None, (), _NoLoop())  # type: ignore[abstract]  # as in World
