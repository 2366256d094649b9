"""Ctrl-C as a request: what goes on is brought to its end, so that no record is cut in two."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import typer

from cordwood.cli.endings import INTERRUPTED


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Yield what says whether to stop; then the command ends as one that was stopped.

    The second Ctrl-C is as hard as ever.
    """
    asked: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        asked.append(number)
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, before)
    if asked:
        raise typer.Exit(INTERRUPTED)
