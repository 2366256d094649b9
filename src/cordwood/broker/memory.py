"""How much memory the requests in flight may take, over all connections.

A frame is let in while any of the budget is left, and is then counted in full. So the budget is
passed by less than one frame, a frame larger than the budget is not stuck, and nobody overtakes.
"""

from collections.abc import Callable
from typing import Final

#: Frames up to this size are not counted: how many there are is bounded by how many connections.
SMALL_FRAME_BYTES: Final = 16 * 1024


class MemoryBudget:
    """Bytes that were taken, and the frames that wait for some to be given back.

    `limit` is asked each time, since it may change.
    """

    __slots__ = ("_limit", "_waiting", "taken")

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self._waiting: dict[Callable[[], object], int] = {}
        self.taken = 0

    @property
    def is_short(self) -> bool:
        """Whether a frame has to wait."""
        return bool(self._waiting)

    def take(self, size: int, go_on: Callable[[], object]) -> bool:
        """Take bytes for a frame; else return False, and call `go_on` when they have been taken."""
        if size <= SMALL_FRAME_BYTES:
            return True
        if self._waiting or self.taken >= self._limit():
            self._waiting[go_on] = size
            return False
        self.taken += size
        return True

    def give_back(self, size: int) -> None:
        """Give back what was taken for a frame of this size."""
        if size > SMALL_FRAME_BYTES:
            self.taken -= size
            self.serve()

    def serve(self) -> None:
        """Let in those who wait, in their order, as far as the budget goes."""
        while self._waiting and self.taken < self._limit():
            go_on, size = next(iter(self._waiting.items()))
            del self._waiting[go_on]
            self.taken += size
            go_on()

    def forget(self, go_on: Callable[[], object]) -> None:
        """Let nobody in by this call any more."""
        self._waiting.pop(go_on, None)
