"""Signals that stop a broker, from the first moment of the command on (Kafka: `Exit`'s hooks).

    SIGTERM, SIGINT    stop in order
    SIGHUP             the same, as the JVM does, unless it is ignored (`nohup`)

While the broker starts the loop does not run. So Python's handlers note a signal, and the start
calls `check` between its steps. A running broker gets signals from the loop (`pass_to`).
"""

import signal
from types import FrameType
from typing import TYPE_CHECKING, Final, Self

from cordwood.core.errors import StartInterruptedError

if TYPE_CHECKING:
    import asyncio

STOPPING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StopSignals:
    """The signals of this process that ask for a stop, inside a `with` block."""

    def __init__(self) -> None:
        self._is_noted = False
        self._before = {each: signal.getsignal(each) for each in STOPPING}

    def __enter__(self) -> Self:
        self.catch()
        return self

    def __exit__(self, *_: object) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)

    def catch(self) -> None:
        """Note signals from here on."""
        for each in self._heeded():
            signal.signal(each, self._note)

    def check(self) -> None:
        """Raise StartInterruptedError after a signal. Thread-safe."""
        if self._is_noted:
            raise StartInterruptedError("a signal has ended the start")

    def pass_to(self, loop: "asyncio.AbstractEventLoop", stopped: "asyncio.Event") -> None:
        """Set an event of the loop at each signal, and for a signal that was noted before."""
        for each in self._heeded():
            loop.add_signal_handler(each, stopped.set)
        if self._is_noted:
            stopped.set()

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._is_noted = True

    def _heeded(self) -> list[signal.Signals]:
        is_ignored = self._before[signal.SIGHUP] is signal.SIG_IGN
        return [each for each in STOPPING if each is not signal.SIGHUP or not is_ignored]
