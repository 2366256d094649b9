"""Event loop in its own thread, for a client or a broker that other threads use.

The thread ends when its owner is closed, when the owner is garbage-collected, or when the process
exits, whichever comes first. A forked child has the owner's memory but not its thread. A call in
such a child raises InvalidRequestError instead of waiting forever.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TypeVar

from cordwood.core.errors import InvalidRequestError

T = TypeVar("T")


class LoopThread:
    """Event loop that runs until `end`; error messages call its user `owner`."""

    def __init__(self, name: str, *, owner: str = "client") -> None:
        self._owner = owner
        self._process = _process_id()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine on the loop and wait; an interrupted wait cancels the coroutine."""
        if not self._is_mine or self._loop.is_closed():
            work.close()
            raise InvalidRequestError(
                f"the {self._owner} is closed"
                if self._is_mine
                else f"the {self._owner} was made before a fork; make one in each process"
            )
        pending = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return pending.result()
        except BaseException:
            pending.cancel()
            raise

    def call(self, call: Callable[[], T]) -> T:
        """Call a function on the loop thread and wait for its result."""

        async def made() -> T:
            return call()

        return self.run(made())

    def end(self, last: Callable[[], Coroutine[object, object, None]]) -> None:
        """Run one last coroutine, then stop the loop and join the thread."""
        if not self._is_mine or self._loop.is_closed():
            return
        if threading.current_thread() is self._thread:  # a finalizer that runs on the loop itself
            self._loop.create_task(last()).add_done_callback(lambda _: self._loop.stop())
            return
        try:
            self.run(last())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    @property
    def _is_mine(self) -> bool:
        return self._process == _process_id()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            with suppress(RuntimeError):  # Python 3.12+ starts no thread at exit
                self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()


def _process_id() -> int:
    return os.getpid()
