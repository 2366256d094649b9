"""Files read through windows of a few megabytes, so that their size never matters.

What has been read is told to a budget before the next window is: `Throttle` is the one that waits
until so many bytes a second have not been exceeded.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from cordwood.core.ports import Clock, OpenFile
from cordwood.workbench.unreadable import Unreadable

WINDOW_BYTES: Final = 4 << 20

#: Take note that so many bytes were read, and return when the next ones may be.
Spend: TypeAlias = Callable[[int], object]


def spend_freely(_size: int) -> None:
    """Read as fast as it goes."""


class Window:
    """A file from its start to `end`; a view of it lasts until the next one is asked for.

    What a disk cannot read is an error, unless there is who reads around it.
    """

    __slots__ = ("_buffer", "_file", "_held", "_size", "_spend", "_start", "_unreadable", "end")

    def __init__(
        self,
        file: OpenFile,
        end: int,
        *,
        size: int = WINDOW_BYTES,
        spend: Spend = spend_freely,
        unreadable: Unreadable | None = None,
    ) -> None:
        self.end = end
        self._file = file
        self._size = size
        self._spend = spend
        self._unreadable = unreadable
        self._buffer = bytearray(0)
        self._start = 0
        self._held = 0

    def view(self, position: int, length: int) -> memoryview:
        """Return `length` bytes from `position`; fewer only where the file or `end` cuts them."""
        length = max(min(length, self.end - position), 0)
        if not self._start <= position or position + length > self._start + self._held:
            self._fill(position, length)
        first = position - self._start
        return memoryview(self._buffer)[first : min(first + length, self._held)]

    def _fill(self, position: int, length: int) -> None:
        """Read a window that begins at `position`; what views show stays as it was."""
        wanted = min(max(length, self._size), max(self.end - position, 0))
        self._buffer = bytearray(wanted)
        self._start = position
        self._held = self._read_into(position) if wanted else 0
        self._spend(self._held)

    def _read_into(self, position: int) -> int:
        read, buffer = self._file.pread_into, self._buffer
        if self._unreadable is None:
            return read(buffer, position)
        return self._unreadable.read_into(self._file.path, read, buffer=buffer, position=position)


class Throttle:
    """Lets no more than so many bytes, or whatever is counted, be handled a second."""

    __slots__ = ("_clock", "_per_second", "_spent", "_start_ms", "_wait")

    def __init__(self, per_second: int, clock: Clock, wait: Callable[[float], object]) -> None:
        self._per_second = per_second
        self._clock = clock
        self._wait = wait
        self._spent = 0
        self._start_ms = clock.monotonic_ms()

    def __call__(self, size: int) -> None:
        """Take note of `size` more, and wait as many seconds as they have come too early."""
        self._spent += size
        due_ms = self._start_ms + self._spent * 1000 / self._per_second
        early_ms = due_ms - self._clock.monotonic_ms()
        if early_ms > 0:
            self._wait(early_ms / 1000)
