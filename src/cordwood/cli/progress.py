"""How far a long command has come, on the standard error while that is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(
    total_bytes: int, *, is_shown: bool | None = None
) -> Iterator[Callable[[int], object]]:
    """Yield what is told of every byte read.

    Nothing is shown unless words go to a terminal and data goes elsewhere.
    """
    if is_shown is None:
        is_shown = sys.stderr.isatty() and not sys.stdout.isatty()
    if not is_shown:
        yield lambda _size: None
        return
    from rich.console import Console  # noqa: PLC0415  # for terminals alone
    from rich.progress import Progress  # noqa: PLC0415  # as above

    with Progress(console=Console(stderr=True, force_terminal=True), transient=True) as bar:
        task = bar.add_task("reading", total=total_bytes)
        yield lambda size: bar.advance(task, size)
