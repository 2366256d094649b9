"""Memory pool for request frames of all connections (Kafka: `SimpleMemoryPool`).

A frame is admitted while any memory is left, and then counted in full. The limit is therefore
exceeded by less than one frame, and a frame larger than the limit is not stuck. Waiting frames are
admitted in order.
"""

from collections.abc import Callable
from typing import Final

#: Frames up to this size are not counted; the number of connections bounds their number.
SMALL_FRAME_BYTES: Final = 16 * 1024


class MemoryPool:
    """The allocated bytes, and the frames that wait for memory.

    `limit` is called each time, since it may change.
    """

    __slots__ = ("_limit", "_waiting", "allocated")

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self._waiting: dict[Callable[[], object], int] = {}
        self.allocated = 0

    @property
    def is_short(self) -> bool:
        """Whether a frame waits for memory."""
        return bool(self._waiting)

    def allocate(self, size: int, resume: Callable[[], object]) -> bool:
        """Allocate memory for a frame.

        Returns False if the frame has to wait; `resume` is called when its memory is allocated.
        """
        if size <= SMALL_FRAME_BYTES:
            return True
        if self._waiting or self.allocated >= self._limit():
            self._waiting[resume] = size
            return False
        self.allocated += size
        return True

    def release(self, size: int) -> None:
        """Release the memory of a frame of this size."""
        if size > SMALL_FRAME_BYTES:
            self.allocated -= size
            self.admit_waiting()

    def admit_waiting(self) -> None:
        """Admit waiting frames in order while memory is left; the limit may have grown."""
        while self._waiting and self.allocated < self._limit():
            resume, size = next(iter(self._waiting.items()))
            del self._waiting[resume]
            self.allocated += size
            resume()

    def cancel(self, resume: Callable[[], object]) -> None:
        """Remove a waiting frame by its callback."""
        self._waiting.pop(resume, None)
