"""Event loop in its own thread, for a client or a broker that other threads use.

The thread ends when its owner is closed, when the owner is garbage-collected, or when the process
exits, whichever comes first. Calls that cannot end raise InvalidRequestError instead of waiting:

    after `end`, or under way when the thread ends
    on the loop's own thread, such as in a callback: the call would wait for itself
    in a forked child: it has the owner's memory but not its thread
"""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Final, TypeVar

from cordwood.core.errors import InvalidRequestError

T = TypeVar("T")


class LoopThread:
    """Event loop that runs until `end`; error messages call its user `owner`."""

    def __init__(self, name: str, *, owner: str = "client") -> None:
        self._owner = owner
        self._process = _process_id()
        self._loop = asyncio.new_event_loop()
        self._is_ended = False
        #: With it, no call reaches the loop after the loop's stop.
        self._submitting = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine on the loop and wait; an interrupted wait cancels the coroutine."""
        return self.result(self.start(work))

    def start(self, work: Coroutine[object, object, T]) -> Future[T]:
        """Start a coroutine on the loop; `result` waits for it."""
        try:
            self.ensure_not_forked()
            self.ensure_other_thread()
            return self._submit(work)
        except InvalidRequestError:
            work.close()
            raise

    def ensure_not_forked(self) -> None:
        """Raise InvalidRequestError in a forked child of the thread's process."""
        if self._process != _process_id():
            raise InvalidRequestError(
                f"the {self._owner} was made before a fork; make one in each process"
            )

    def ensure_other_thread(self) -> None:
        """Raise InvalidRequestError on the loop's own thread."""
        if threading.current_thread() is self._thread:
            raise InvalidRequestError(
                f"a blocking call of the {self._owner} on its own thread, such as in a callback,"
                " would wait for itself; make the call on another thread"
            )

    def _submit(self, work: Coroutine[object, object, T]) -> Future[T]:
        with self._submitting:
            if self._is_ended:
                raise self._closed()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def result(self, pending: Future[T]) -> T:
        """Wait for a coroutine; an interrupted wait cancels it."""
        try:
            return pending.result()
        except CancelledError:
            if self._is_ended:
                raise self._closed() from None
            raise
        except BaseException:
            pending.cancel()
            raise

    def _closed(self) -> InvalidRequestError:
        return InvalidRequestError(f"the {self._owner} is closed")

    def call(self, call: Callable[[], T]) -> T:
        """Call a function on the loop thread and wait for its result."""

        async def made() -> T:
            return call()

        return self.run(made())

    def end(self, last: Callable[[], Coroutine[object, object, None]]) -> None:
        """Run one last coroutine, then stop the loop and join the thread."""
        if self._process != _process_id():
            return
        with self._submitting:
            is_first, self._is_ended = not self._is_ended, True
        if threading.current_thread() is self._thread:  # a finalizer that runs on the loop itself
            if is_first:
                self._loop.create_task(last()).add_done_callback(lambda _: self._loop.stop())
            return
        try:
            if is_first:
                self.result(asyncio.run_coroutine_threadsafe(last(), self._loop))
        finally:
            if is_first:
                self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(_cancelled(asyncio.all_tasks(self._loop)))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            with suppress(RuntimeError):  # Python 3.12+ starts no thread at exit
                self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()


async def _cancelled(tasks: Iterable[asyncio.Task[object]]) -> None:
    """End the tasks whose callers still wait."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _Process:
    """Id of the present process, kept since a system call for every record would be slow."""

    def __init__(self, process_id: int) -> None:
        self.id = process_id

    def renew(self) -> None:
        self.id = os.getpid()


_PROCESS: Final = _Process(os.getpid())
os.register_at_fork(after_in_child=_PROCESS.renew)


def _process_id() -> int:
    return _PROCESS.id
