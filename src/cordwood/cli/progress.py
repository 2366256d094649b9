"""How far a long command has come, on the standard error while that is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cordwood.cli.output import is_terminal


@contextmanager
def progress(
    total_bytes: int | None, *, is_shown: bool = True
) -> Iterator[Callable[[int], object]]:
    """Yield what is told of every byte read; nobody may know how many there will be.

    Nothing is shown where words do not go to a terminal, nor when the caller says so: lines that
    are printed meanwhile on the same terminal would be torn.
    """
    if not is_shown or not is_terminal(sys.stderr):
        yield lambda _size: None
        return
    from rich.console import Console  # noqa: PLC0415  # for terminals alone
    from rich.progress import Progress  # noqa: PLC0415  # as above

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=total_bytes)
        yield lambda size: bar.advance(task, size)
