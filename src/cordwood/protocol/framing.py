"""Frames of a connection, sans-IO, in both directions and for both sides.

    frame     size (int32, of the rest) | header | body

A size is checked against the limit as soon as its four bytes have arrived, before any allocation.
Each frame gets its own buffer of its exact size. Small frames are copied from the received bytes;
the rest of a large frame can be received directly into `room`.
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


def _admit_all(_size: int) -> bool:
    return True


class FrameReader:
    """Parser from bytes to frames, with at most one incomplete frame.

    Complete frames, without their sizes, are appended to `frames`, from which the caller takes
    them. `limit` is called once per frame, because it may change. `admit` is called for each frame
    within the limit. If it returns False the frame is held: no bytes may be fed until `go_on`.
    After a BytesError the next frame's start is unknown, so no bytes may be fed any more.
    """

    __slots__ = ("_admit", "_body", "_filled", "_kept", "_limit", "frames")

    def __init__(
        self, limit: Callable[[], int], *, admit: Callable[[int], bool] = _admit_all
    ) -> None:
        self._limit = limit
        self._admit = admit
        self._kept = b""
        self._body: bytearray | None = None
        self._filled = 0
        self.frames: deque[bytearray] = deque()

    @property
    def allocated(self) -> int:
        """Size of the incomplete frame's buffer; 0 if there is none."""
        return 0 if self._body is None else len(self._body)

    @property
    def missing(self) -> int:
        """Bytes that the incomplete frame still needs; 0 if there is none."""
        return 0 if self._body is None else len(self._body) - self._filled

    def feed(self, data: Buffer) -> None:
        """Parse received bytes; BytesError for a size that is negative or above the limit."""
        view = memoryview(self._kept + data if self._kept else data)
        self._kept = b""
        at = self._fill_from(view)
        while self._begin(view[at : at + _SIZE.size]):
            at += _SIZE.size
            at += self._fill_from(view[at:])
        self._kept = bytes(view[at:])

    def room(self) -> memoryview:
        """Return the unfilled part of the incomplete frame; call `fill` after writing to it."""
        assert self._body is not None, "a frame is under way"
        return memoryview(self._body)[self._filled :]

    def fill(self, count: int) -> None:
        """Count bytes that were written into `room`."""
        self._filled += count
        if self._body is not None and self._filled == len(self._body):
            self.frames.append(self._body)
            self._body = None

    def go_on(self) -> None:
        """Admit the held frame and parse the bytes kept with it; raises as `feed` does."""
        kept, self._kept = self._kept, b""
        self._allocate(_SIZE.unpack_from(kept)[0])
        self.feed(memoryview(kept)[_SIZE.size :])

    def drop(self) -> None:
        """Drop all buffered bytes and frames."""
        self.frames.clear()
        self._body, self._kept = None, b""

    def _begin(self, prefix: memoryview) -> bool:
        """Allocate a frame of this size; False if the size is incomplete, or the frame is held."""
        if len(prefix) < _SIZE.size:
            return False
        (size,) = _SIZE.unpack(prefix)
        limit = self._limit()
        if not 0 <= size <= limit:
            raise BytesError("frame size", position=0, expected=f"0 to {limit}", found=size)
        if not self._admit(size):
            return False
        self._allocate(size)
        return True

    def _fill_from(self, view: memoryview) -> int:
        if self._body is None:
            return 0
        part = view[: self.missing]
        self.room()[: len(part)] = part
        self.fill(len(part))
        return len(part)

    def _allocate(self, size: int) -> None:
        self._body = bytearray(size)
        self._filled = 0


def framed(header: bytes | bytearray, chunks: list[Chunk]) -> list[Chunk]:
    """Return a frame of a header and the chunks of a body, which are not copied."""
    size = len(header) + size_of(chunks)
    return [_SIZE.pack(size) + header, *chunks]
