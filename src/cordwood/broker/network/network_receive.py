"""Reception of the request frames of one connection, in counted memory (Kafka: `NetworkReceive`).

All connections receive small frames into one shared buffer; this is safe, since the loop fills the
buffer and the connection empties it in the same callback. The rest of a large frame is received
directly into its own memory, as far as the pool has room.

A frame without room waits, and its connection stops reading. While other frames wait for its
memory, a frame must arrive: PROGRESS_BYTES in any PROGRESS_MS, and the whole frame within
FRAME_TIMEOUT_MS, in which it must also reach its handler. Otherwise `is_keeping_memory` is true,
and the server closes the connection. The time that a frame itself waits for memory does not count.
"""

import ctypes
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, cast

from cordwood.broker.network.memory_pool import SMALL_FRAME_BYTES, FrameMemory, MemoryPool
from cordwood.core.ports import Clock
from cordwood.protocol.framing import FrameReader

#: The largest read, so that one callback of the loop stays short.
_READ_BYTES: Final = 1024 * 1024
PROGRESS_BYTES: Final = 64 * 1024
PROGRESS_MS: Final = 5_000
FRAME_TIMEOUT_MS: Final = 30_000

_bytearray_of = ctypes.pythonapi.PyByteArray_FromStringAndSize
_bytearray_of.restype = ctypes.py_object
_bytearray_of.argtypes = (ctypes.c_char_p, ctypes.c_ssize_t)


class ReceivedFrame(NamedTuple):
    """A whole frame; its memory is released when its request has been handled."""

    data: bytearray
    memory: FrameMemory | None

    def release(self) -> None:
        """Release the memory, if it is counted."""
        if self.memory is not None:
            self.memory.release()


class _WholeFrame(NamedTuple):
    """The memory of a frame that waits for its handler, and the time when the frame began."""

    memory: FrameMemory
    began_ms: float

    def is_late(self, now_ms: float) -> bool:
        """Whether other frames wait for its memory, and it has had its time."""
        return self.memory.is_needed and now_ms - self.began_ms > FRAME_TIMEOUT_MS


class NetworkReceive:
    """The incomplete frame of a connection, and the whole frames that wait for their handler.

    `shared` has SMALL_FRAME_BYTES. `resume` is called when a frame that waited has room.
    """

    def __init__(
        self,
        limit: Callable[[], int],
        *,
        memory: MemoryPool,
        shared: memoryview,
        clock: Clock,
        resume: Callable[[], object],
    ) -> None:
        self._reader = FrameReader(limit, allocate=_allocate)
        #: The whole frames; `take` removes them.
        self.frames: Final = self._reader.frames
        self._pool = memory
        self._shared = shared
        self._clock = clock
        self._resume = resume
        self._is_in_place = False
        #: The memory of the incomplete frame, and that of the whole frames that are counted.
        self._memory: FrameMemory | None = None
        self._whole: deque[_WholeFrame] = deque()
        self._began_ms = self._progress_ms = self._wait_began_ms = 0.0
        self._progress_at = 0

    @property
    def is_waiting(self) -> bool:
        """Whether the incomplete frame waits for memory."""
        return self._memory is not None and self._memory.is_waiting

    def buffer(self) -> memoryview:
        """Return room for the next bytes of the connection; call `received` after writing."""
        if self._memory is None:
            self._is_in_place = False
            return self._shared
        wanted = min(self._memory.missing, self._memory.room(), _READ_BYTES)
        self._is_in_place = wanted >= SMALL_FRAME_BYTES
        return self._reader.room()[:wanted] if self._is_in_place else self._shared

    def received(self, count: int) -> None:
        """Take received bytes; BytesError for an invalid frame size."""
        memory, reader = self._memory, self._reader
        counted = 0 if memory is None else min(count, memory.missing)
        try:
            if self._is_in_place:
                reader.fill(count)
            else:
                reader.feed(self._shared[:count])
        finally:
            if memory is not None:
                self._count(memory, counted)
            # Several frames may arrive in one read, but at most the last of them is counted.
            if self._memory is None and reader.size > SMALL_FRAME_BYTES:
                self._begin_count()

    def take(self) -> ReceivedFrame:
        """Return the first whole frame; the caller releases it."""
        data = self._reader.frames.popleft()
        is_counted = len(data) > SMALL_FRAME_BYTES
        return ReceivedFrame(data, self._whole.popleft().memory if is_counted else None)

    def is_keeping_memory(self, *, is_reading: bool) -> bool:
        """Whether other frames wait for memory of a frame that does not arrive, or is not taken."""
        now_ms = self._clock.monotonic_ms()
        whole = self._whole[0] if self._whole else None
        is_late = whole is not None and whole.is_late(now_ms)
        if self._memory is None or self.is_waiting or not self._memory.is_needed:
            return is_late
        is_stalled = is_reading and now_ms - self._progress_ms > PROGRESS_MS
        return is_late or is_stalled or now_ms - self._began_ms > FRAME_TIMEOUT_MS

    def drop_frames(self) -> None:
        """Drop the whole frames."""
        while self._reader.frames:
            self.take().release()

    def drop(self) -> None:
        """Drop all bytes and release all memory; `resume` is not called any more."""
        self._resume = _nothing  # or the connection and this object would refer to each other
        self.drop_frames()
        self._reader.drop()
        if self._memory is not None:
            self._memory.release()
            self._memory = None

    def _begin_count(self) -> None:
        self._memory = self._pool.open(self._reader.size, self._end_wait)
        self._began_ms = self._progress_ms = self._clock.monotonic_ms()
        self._progress_at = 0
        self._count(self._memory, self._reader.arrived)

    def _count(self, memory: FrameMemory, count: int) -> None:
        memory.add(count)
        if not memory.missing:
            self._whole.append(_WholeFrame(memory, self._began_ms))
            self._memory = None
            return
        if self._reader.arrived >= self._progress_at + PROGRESS_BYTES:
            self._progress_at, self._progress_ms = self._reader.arrived, self._clock.monotonic_ms()
        if not memory.may_receive():
            self._wait_began_ms = self._clock.monotonic_ms()

    def _end_wait(self) -> None:
        self._progress_ms = self._clock.monotonic_ms()
        self._began_ms += self._progress_ms - self._wait_began_ms
        self._resume()


def _nothing() -> None:
    pass


def _allocate(size: int) -> bytearray:
    """Return a buffer of any content.

    `bytearray(size)` writes zeros, which makes every page resident before a byte has arrived, and
    takes 30 ms of the loop for a request of 100 MB.
    """
    if size <= SMALL_FRAME_BYTES:
        return bytearray(size)
    return cast("bytearray", _bytearray_of(None, size))
