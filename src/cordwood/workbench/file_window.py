"""Sequential file reads through a window of a few megabytes, in bounded memory.

After each window a callback receives the number of bytes read. `Throttle` is such a callback: it
sleeps as long as needed to keep a rate.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from cordwood.core.ports import Clock, OpenFile
from cordwood.workbench.unreadable_ranges import UnreadablePages

WINDOW_BYTES: Final = 4 << 20

#: Called with the number of bytes read; it may sleep before it returns.
OnBytes: TypeAlias = Callable[[int], object]


def ignore_bytes(_size: int) -> None:
    """Ignore the number of bytes read."""


class FileWindow:
    """A file up to `end`; a view is valid until the next one is requested.

    Read errors propagate unless `unreadable` is given, which replaces unreadable pages by zeros.
    """

    __slots__ = ("_buffer", "_file", "_held", "_on_bytes", "_size", "_start", "_unreadable", "end")

    def __init__(
        self,
        file: OpenFile,
        end: int,
        *,
        size: int = WINDOW_BYTES,
        on_bytes: OnBytes = ignore_bytes,
        unreadable: UnreadablePages | None = None,
    ) -> None:
        self.end = end
        self._file = file
        self._size = size
        self._on_bytes = on_bytes
        self._unreadable = unreadable
        self._buffer = bytearray(0)
        self._start = 0
        self._held = 0

    def view(self, position: int, length: int) -> memoryview:
        """Return `length` bytes from `position`; fewer only at the end of the file or `end`."""
        length = max(min(length, self.end - position), 0)
        if not self._start <= position or position + length > self._start + self._held:
            self._fill(position, length)
        first = position - self._start
        return memoryview(self._buffer)[first : min(first + length, self._held)]

    def peek(self, position: int, length: int) -> bytes:
        """Return `length` bytes from `position`, at most those in the file.

        Earlier views stay valid.
        """
        length = max(min(length, self.end - position), 0)
        if self._start <= position and position + length <= self._start + self._held:
            first = position - self._start
            return bytes(self._buffer[first : first + length])
        buffer = bytearray(length)
        return bytes(buffer[: self._read_into(buffer, position)])

    def _fill(self, position: int, length: int) -> None:
        """Read a window that begins at `position`, into a new buffer: older views keep theirs."""
        size = min(max(length, self._size), max(self.end - position, 0))
        self._buffer = bytearray(size)
        self._start = position
        self._held = self._read_into(self._buffer, position) if size else 0
        self._on_bytes(self._held)

    def _read_into(self, buffer: bytearray, position: int) -> int:
        read = self._file.pread_into
        if self._unreadable is None:
            return read(buffer, position)
        return self._unreadable.read_into(self._file.path, read, buffer=buffer, position=position)


class Throttle:
    """A rate limit of bytes, or of other units, per second."""

    __slots__ = ("_clock", "_count", "_per_second", "_start_ms", "_wait")

    def __init__(self, per_second: int, clock: Clock, wait: Callable[[float], object]) -> None:
        self._per_second = per_second
        self._clock = clock
        self._wait = wait
        self._count = 0
        self._start_ms = clock.monotonic_ms()

    def __call__(self, size: int) -> None:
        """Count `size` more units, and wait if they came before their time."""
        self._count += size
        due_ms = self._start_ms + self._count * 1000 / self._per_second
        early_ms = due_ms - self._clock.monotonic_ms()
        if early_ms > 0:
            self._wait(early_ms / 1000)
