"""Who held up the loop: a thread that asks it for a sign of life, and looks when none comes.

The loop is asked again and again. When it has not answered in time, the watch reads what the loop's
thread is doing at that moment, and reports it with the time that it took in the end. It costs some
calls a second and sees what lasts; so it is for finding out, and off by default.
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


class LoopWatch:
    """Watches the running loop from `start` to `stop`; `report` is told how long, and where."""

    def __init__(self, clock: Clock, slow_ms: float, *, report: Report) -> None:
        self._clock = clock
        self._slow_ms = slow_ms
        self._report = report
        self._is_stopped = threading.Event()
        self._answered = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Watch the loop that this is called on."""
        watched = (asyncio.get_running_loop(), threading.get_ident())
        self._thread = threading.Thread(target=self._watch, args=watched, name="loop-watch")
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._is_stopped.set()
        self._answered.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self, loop: asyncio.AbstractEventLoop, thread_id: int) -> None:
        while not self._is_over():
            asked_ms = self._clock.monotonic_ms()
            try:
                loop.call_soon_threadsafe(self._answered.set)
            except RuntimeError:  # the loop has ended
                return
            if self._answered.wait(self._slow_ms / 1000):
                continue
            place = _place(thread_id)
            self._answered.wait()
            if not self._is_stopped.is_set():
                self._report(self._clock.monotonic_ms() - asked_ms, place)

    def _is_over(self) -> bool:
        """Wait a moment, and say whether to ask no more."""
        self._answered.clear()  # before the look: `stop` sets this last, and nobody answers then
        return self._is_stopped.wait(_BETWEEN_SECONDS)


def log_slow_call(took_ms: float, place: str) -> None:
    """Report to the log."""
    _log.warning("loop held up", extra=fields(took_ms=round(took_ms, 1), place=place))


def _place(thread_id: int) -> str:
    """Return what a thread is doing: the innermost calls, outermost first."""
    frame = sys._current_frames().get(thread_id)  # noqa: SLF001 - there is no other way to see it
    calls = traceback.extract_stack(frame)[-_SHOWN_CALLS:] if frame else []
    return " > ".join(f"{call.name} ({call.filename}:{call.lineno})" for call in calls)
