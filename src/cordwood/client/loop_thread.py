"""An event loop in a thread of its own, for a client or a broker that is used from other threads.

It ends with its owner: when that is closed, when nobody holds it any more, or when the process
exits, whichever comes first. A forked child has the owner's memory and not its thread, so there it
is refused by name instead of waiting for ever.
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
    """A loop that runs until `end`; `owner` is what errors call the one that it is for."""

    def __init__(self, name: str, *, owner: str = "client") -> None:
        self._owner = owner
        self._process = _process_id()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Do work on the loop, and wait for it; what interrupts the wait ends the work."""
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
        """Make a call on the loop, and wait for it."""

        async def made() -> T:
            return call()

        return self.run(made())

    def end(self, last: Callable[[], Coroutine[object, object, None]]) -> None:
        """Do one last thing and stop."""
        if not self._is_mine or self._loop.is_closed():
            return
        if threading.current_thread() is self._thread:  # let go of by its own loop
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
            with suppress(RuntimeError):  # from Python 3.12 on nothing is joined at the exit
                self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()


def _process_id() -> int:
    return os.getpid()
