"""Watchdog for calls that block the event loop, off by default.

A thread schedules a callback on the loop again and again. If the callback is late, the watchdog
samples the stack of the loop's thread, and reports it with the final delay. The cost is some
hundred callbacks a second; calls shorter than the limit are not seen.
"""

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Final

from cordwood.core.ports import Clock
from cordwood.observability.logs import fields

_BETWEEN_SECONDS: Final = 0.002
_SHOWN_CALLS: Final = 8

_log = logging.getLogger(__name__)

Report = Callable[[float, str], object]


class LoopWatchdog:
    """Watches the running loop from `start` to `stop`; `report` receives delay and stack."""

    def __init__(self, clock: Clock, slow_ms: float, *, report: Report) -> None:
        self._clock = clock
        self._slow_ms = slow_ms
        self._report = report
        self._is_stopped = threading.Event()
        self._has_run = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Watch the loop that calls this."""
        watched = (asyncio.get_running_loop(), threading.get_ident())
        self._thread = threading.Thread(target=self._watch, args=watched, name="loop-watch")
        self._thread.start()

    def stop(self) -> None:
        """Stop watching and join the thread."""
        self._is_stopped.set()
        self._has_run.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self, loop: asyncio.AbstractEventLoop, thread_id: int) -> None:
        while not self._is_over():
            scheduled_ms = self._clock.monotonic_ms()
            try:
                loop.call_soon_threadsafe(self._has_run.set)
            except RuntimeError:  # the loop has been closed
                return
            if self._has_run.wait(self._slow_ms / 1000):
                continue
            stack = _stack_of(thread_id)
            self._has_run.wait()
            if not self._is_stopped.is_set():
                self._report(self._clock.monotonic_ms() - scheduled_ms, stack)

    def _is_over(self) -> bool:
        """Wait a moment; return whether the watchdog has been stopped."""
        # Cleared before the wait: `stop` sets it last, and no callback would set it again.
        self._has_run.clear()
        return self._is_stopped.wait(_BETWEEN_SECONDS)


def log_slow_call(took_ms: float, place: str) -> None:
    """Log a call that has blocked the loop."""
    _log.warning("loop held up", extra=fields(took_ms=round(took_ms, 1), place=place))


def _stack_of(thread_id: int) -> str:
    """Return the innermost calls of a thread, the outermost of them first."""
    frame = sys._current_frames().get(thread_id)  # noqa: SLF001 - there is no other way to see it
    calls = traceback.extract_stack(frame)[-_SHOWN_CALLS:] if frame else []
    return " > ".join(f"{call.name} ({call.filename}:{call.lineno})" for call in calls)
