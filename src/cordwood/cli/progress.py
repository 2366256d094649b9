"""Progress bar of a long command, shown on the standard error if that is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from cordwood.cli.terminal import is_terminal

#: Shows the bytes read so far, and the expected total if that is known.
Show = Callable[[int, int | None], object]


class ByteProgress:
    """Count of the bytes read; called with each amount. `expect` changes the expected total."""

    def __init__(self, total_bytes: int | None, show: Show) -> None:
        self._total = total_bytes
        self._seen = 0
        self._show: Final = show

    def __call__(self, size: int) -> None:
        self._seen += size
        self._show(self._seen, self._total)

    def expect(self, size: int) -> None:
        """Add to the expected total; `size` may be negative."""
        self._total = (self._total or 0) + size


@contextmanager
def show_progress(
    total_bytes: int | None, *, is_shown: bool = True, label: str = "reading"
) -> Iterator[ByteProgress]:
    """Yield the callback for the bytes read; `total_bytes` is None if the total is unknown.

    A benchmark counts records instead of bytes. The bar is shown only on a terminal. A caller that
    prints lines to the same terminal passes `is_shown=False`, since the bar would break into them.
    """
    if not is_shown or not is_terminal(sys.stderr):
        yield ByteProgress(total_bytes, lambda _seen, _total: None)
        return
    from rich.console import Console  # noqa: PLC0415  # for terminals alone
    from rich.progress import Progress  # noqa: PLC0415  # as above

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total_bytes)
        yield ByteProgress(
            total_bytes, lambda seen, total: bar.update(task, completed=seen, total=total)
        )
