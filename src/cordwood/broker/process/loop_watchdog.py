"""Watchdog for callbacks that block the event loop, off by default (`cordwood serve --debug`).

A timer on the loop is due ten times within the limit. A callback that runs for the limit delays the
timer by nine tenths of it at least. So each such callback is reported, and a sum of shorter ones in
one turn of the loop too. A thread looks at the timer's due time. When the loop is late by half of
the limit, the thread samples the stack of the loop's thread. A call that holds the interpreter lock
delays this thread as well; the thread then gets the lock, and the stack, at the end of that call.
The stack is read without frame objects (`thread_stacks`).
"""

import asyncio
import logging
import selectors
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Final, NamedTuple

from cordwood.broker.process.thread_stacks import Call, ThreadStacks
from cordwood.core.ports import Clock, Scheduler, Timer
from cordwood.observability.logs import fields

_TIMES_WITHIN_LIMIT: Final = 10
_SHOWN_CALLS: Final = 12
_NO_SAMPLE: Final = "unknown: the thread of the watchdog did not run meanwhile"

IDLE: Final = "no callback: the loop was idle, or the process had no processor"
#: The innermost call in Python of a loop that waits for events; uvloop has no calls of its own.
_WAITING_IN: Final = frozenset({asyncio.runners.__file__, selectors.__file__})

_log = logging.getLogger(__name__)

Report = Callable[[float, str], object]


class _Sample(NamedTuple):
    """A stack of the loop's thread, and the due time of the timer that was late then."""

    due_ms: float
    stack: str


class StallDetector:
    """Timer side of the watchdog: `report` receives the delay of each late timer, and a stack."""

    def __init__(
        self, clock: Clock, scheduler: Scheduler, slow_ms: float, *, report: Report
    ) -> None:
        self.every_ms = slow_ms / _TIMES_WITHIN_LIMIT
        self._clock = clock
        self._scheduler = scheduler
        self._late_ms = slow_ms - self.every_ms
        self._report = report
        self._sample: _Sample | None = None
        self._due_ms = clock.monotonic_ms()
        self._timer: Timer | None = None

    def start(self) -> None:
        """Start the timer, on the loop."""
        self._due_ms = self._clock.monotonic_ms() + self.every_ms
        self._timer = self._scheduler.call_at(self._due_ms, self._ring)

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def look(self, stack: Callable[[], str]) -> None:
        """Keep the stack when the loop is first seen to be late, on any thread.

        A later stack may be of the turn's end, after the callback that has taken the time.
        """
        due_ms, sample = self._due_ms, self._sample
        is_new = sample is None or sample.due_ms != due_ms
        if is_new and self._clock.monotonic_ms() - due_ms >= self._late_ms / 2:
            self._sample = _Sample(due_ms, stack())

    def _ring(self) -> None:
        due_ms, sample = self._due_ms, self._sample
        self.start()
        delay_ms = self._clock.monotonic_ms() - due_ms
        if delay_ms >= self._late_ms:
            is_of_delay = sample is not None and sample.due_ms == due_ms
            self._report(delay_ms, sample.stack if sample and is_of_delay else _NO_SAMPLE)


class LoopWatchdog:
    """Watches the running loop from `start` to `stop`."""

    def __init__(
        self, clock: Clock, scheduler: Scheduler, slow_ms: float, *, report: Report
    ) -> None:
        self._detector = StallDetector(clock, scheduler, slow_ms, report=report)
        self._is_stopped = threading.Event()

    def start(self) -> None:
        """Watch the loop that calls this."""
        asyncio.get_running_loop()
        self._detector.start()
        watch = threading.Thread(
            target=self._watch, args=(threading.get_ident(),), name="loop-watch", daemon=True
        )
        watch.start()

    def stop(self) -> None:
        """Stop watching; the thread ends soon."""
        self._detector.stop()
        self._is_stopped.set()

    def _watch(self, thread_id: int) -> None:
        with closing(ThreadStacks()) as stacks:

            def stack() -> str:
                return shown_stack(stacks.read().get(thread_id, ()))

            while not self._is_stopped.wait(self._detector.every_ms / 1000):
                self._detector.look(stack)


def log_slow_call(took_ms: float, stack: str) -> None:
    """Log a callback that has blocked the loop."""
    _log.warning("loop held up", extra=fields(took_ms=round(took_ms, 1), stack=stack))


def shown_stack(calls: Sequence[Call]) -> str:
    """Return the innermost calls of a thread, the outermost of them first."""
    if calls and calls[-1].file in _WAITING_IN:
        return IDLE
    return " > ".join(map(str, calls[-_SHOWN_CALLS:]))
