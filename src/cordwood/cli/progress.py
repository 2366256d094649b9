"""How far a long command has come, on the standard error while that is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from cordwood.cli.output import is_terminal

#: Shows how many bytes there were, and of how many.
Show = Callable[[int, int | None], object]


class Bar:
    """Is called with every byte read; `expect` says of more of them, or fewer."""

    def __init__(self, total_bytes: int | None, show: Show) -> None:
        self._total = total_bytes
        self._seen = 0
        self._show: Final = show

    def __call__(self, size: int) -> None:
        self._seen += size
        self._show(self._seen, self._total)

    def expect(self, size: int) -> None:
        """Say of so many more than were expected so far."""
        self._total = (self._total or 0) + size


@contextmanager
def progress(total_bytes: int | None, *, is_shown: bool = True) -> Iterator[Bar]:
    """Yield what is told of every byte read; nobody may know how many there will be.

    Nothing is shown where words do not go to a terminal, nor when the caller says so: lines that
    are printed meanwhile on the same terminal would be torn.
    """
    if not is_shown or not is_terminal(sys.stderr):
        yield Bar(total_bytes, lambda _seen, _total: None)
        return
    from rich.console import Console  # noqa: PLC0415  # for terminals alone
    from rich.progress import Progress  # noqa: PLC0415  # as above

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=total_bytes)
        yield Bar(total_bytes, lambda seen, total: bar.update(task, completed=seen, total=total))
