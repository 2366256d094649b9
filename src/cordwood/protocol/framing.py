"""Frames of a connection, sans-IO, in both directions and for both sides.

    frame     size (int32, of the rest) | header | body

A size is checked against the limit as soon as its four bytes have arrived, before any allocation.
Each frame gets its own buffer. A large frame begins in a buffer of FIRST_BYTES, and gets one of its
exact size when that is full. Small frames are copied from the received bytes; the rest of a large
frame can be received directly into `room`.
"""

import struct
from collections import deque
from collections.abc import Callable
from typing import Final

from cordwood.core.binary import Buffer
from cordwood.core.errors import BytesError
from cordwood.protocol.codec import size_of
from cordwood.protocol.primitives import Chunk

_SIZE: Final = struct.Struct(">i")


#: The first buffer of a larger frame, so that an announced size alone allocates little.
FIRST_BYTES: Final = 2 * 1024 * 1024
#: Frames up to this size are copied into one buffer: each buffer more costs more than the copy.
JOINED_BYTES: Final = 4 * 1024


class FrameReader:
    """Parser from bytes to frames, with at most one incomplete frame.

    Complete frames, without their sizes, are appended to `frames`, from which the caller takes
    them. `limit` is called once per frame, because it may change. `allocate` returns a buffer of
    any content. After a BytesError the next frame's start is unknown, so no bytes may be fed any
    more.
    """

    __slots__ = ("_allocate", "_body", "_kept", "_limit", "arrived", "frames", "size")

    def __init__(
        self, limit: Callable[[], int], *, allocate: Callable[[int], bytearray] = bytearray
    ) -> None:
        self._limit = limit
        self._allocate = allocate
        self._kept = b""
        self._body: bytearray | None = None
        #: The size of the incomplete frame, and its bytes so far; both are 0 if there is none.
        self.size = 0
        self.arrived = 0
        self.frames: deque[bytearray] = deque()

    @property
    def missing(self) -> int:
        """Bytes that the incomplete frame still needs; 0 if there is none."""
        return self.size - self.arrived

    def feed(self, data: Buffer) -> None:
        """Parse received bytes; BytesError for a size that is negative or above the limit."""
        view = memoryview(self._kept + data if self._kept else data)
        self._kept = b""
        at = self._take_whole(view, self._fill_from(view))
        while self._begin(view[at : at + _SIZE.size]):
            at += _SIZE.size
            at += self._fill_from(view[at:])
        self._kept = bytes(view[at:])

    def room(self, needed: int = 1) -> memoryview:
        """Return room for the next bytes of the incomplete frame; call `fill` after writing."""
        assert self._body is not None, "a frame is under way"
        if self.arrived + needed > len(self._body):
            first, self._body = self._body, self._allocate(self.size)
            memoryview(self._body)[: self.arrived] = memoryview(first)[: self.arrived]
        return memoryview(self._body)[self.arrived :]

    def fill(self, count: int) -> None:
        """Count bytes that were written into `room`."""
        self.arrived += count
        if self._body is not None and self.arrived == self.size:
            self.frames.append(self._body)
            self._end_frame()

    def drop(self) -> None:
        """Drop all buffered bytes and frames."""
        self.frames.clear()
        self._kept = b""
        self._end_frame()

    def _take_whole(self, view: memoryview, at: int) -> int:
        """Copy the frames that have arrived whole; return where any other one begins."""
        end = len(view)
        while end - at > _SIZE.size and not self.size:
            (size,) = _SIZE.unpack_from(view, at)
            start = at + _SIZE.size
            if not 0 < size <= end - start or size > self._limit():
                break  # incomplete, empty or invalid
            at = start + size
            body = self._allocate(size)
            body[:] = view[start:at]
            self.frames.append(body)
        return at

    def _begin(self, prefix: memoryview) -> bool:
        """Begin a frame of this size; False if the size is incomplete."""
        if len(prefix) < _SIZE.size:
            return False
        (size,) = _SIZE.unpack(prefix)
        limit = self._limit()
        if not 0 <= size <= limit:
            raise BytesError("frame size", position=0, expected=f"0 to {limit}", found=size)
        self.size = size
        self._body = self._allocate(min(size, FIRST_BYTES))
        if not size:
            self.fill(0)
        return True

    def _fill_from(self, view: memoryview) -> int:
        """Copy bytes into the incomplete frame, and return how many it takes."""
        count = min(self.size - self.arrived, len(view))
        if count:
            self.room(count)[:count] = view[:count]
            self.fill(count)
        return count

    def _end_frame(self) -> None:
        self._body = None
        self.size = self.arrived = 0


def framed(header: bytes | bytearray, chunks: list[Chunk]) -> list[Chunk]:
    """Return a frame of a header and the chunks of a body; only a small body is copied."""
    size = len(header) + size_of(chunks)
    if size <= JOINED_BYTES and len(chunks) == 1 and isinstance(body := chunks[0], Buffer):
        return [b"".join((_SIZE.pack(size), header, body))]
    return [_SIZE.pack(size) + header, *chunks]
