"""Frames, sans-IO: what a connection carries, in either direction, for either side.

    frame     size (int32, of what follows) | header | body

A size is held against the limit as soon as its four bytes are there, before anything is allocated.
Each frame gets a buffer of its own and of its own size, which is written once: small frames are
copied out of what was received, the rest of a large one can be received straight into `room`.
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
    """Bytes in, frames out. One frame at a time is incomplete; of the next, less than its size.

    Whole frames, without their sizes, are put into `frames`, from which their reader takes them.
    `limit` is asked once a frame, since it may change. `admit` is asked for a frame that keeps the
    limit; when it says no the frame is held: nothing may be fed until `go_on`. After a refusal
    nobody knows where the next frame begins, so nothing may be fed any more.
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
        """The size of the frame under way, all of it; 0 when none has a buffer."""
        return 0 if self._body is None else len(self._body)

    @property
    def missing(self) -> int:
        """How many bytes the frame under way still lacks; 0 when none has a buffer."""
        return 0 if self._body is None else len(self._body) - self._filled

    def feed(self, data: Buffer) -> None:
        """Take what was received. BytesError for a size that is negative or above the limit."""
        view = memoryview(self._kept + data if self._kept else data)
        self._kept = b""
        at = self._fill_from(view)
        while self._begin(view[at : at + _SIZE.size]):
            at += _SIZE.size
            at += self._fill_from(view[at:])
        self._kept = bytes(view[at:])

    def room(self) -> memoryview:
        """Return what the frame under way lacks, to be written, and then told to `fill`."""
        assert self._body is not None, "a frame is under way"
        return memoryview(self._body)[self._filled :]

    def fill(self, count: int) -> None:
        """Count bytes that were written into `room`."""
        self._filled += count
        if self._body is not None and self._filled == len(self._body):
            self.frames.append(self._body)
            self._body = None

    def go_on(self) -> None:
        """Let in the frame that was held, with what had come of it; raises as `feed` does."""
        kept, self._kept = self._kept, b""
        self._allocate(_SIZE.unpack_from(kept)[0])
        self.feed(memoryview(kept)[_SIZE.size :])

    def drop(self) -> None:
        """Let go of every byte, as nobody will ask for them."""
        self.frames.clear()
        self._body, self._kept = None, b""

    def _begin(self, prefix: memoryview) -> bool:
        """Make room for the frame whose size this is; False if it is incomplete, or held."""
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
    """Return a frame of a header and the chunks of a body, which are not touched."""
    size = len(header) + size_of(chunks)
    return [_SIZE.pack(size) + header, *chunks]
