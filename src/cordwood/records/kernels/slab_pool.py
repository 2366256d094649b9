"""Pool of chunk memory: the first touch of fresh memory costs more than decoding into it.

A slab is reused only without references. The arrays that are cut from it, and the Arrow buffers
made of them, each hold a reference, so its reference count is the test.
"""

import sys
from typing import Final

import numpy as np

from cordwood.records.kernels import layout as at
from cordwood.records.kernels.kernel_definition import Bytes, Words

#: More free slabs than this are released.
KEPT: Final = 4
#: A slab that is larger than the request by more than this factor is not reused.
ROOMIEST: Final = 4
#: The reference count of a slab without users: the pool's list and the query itself.
_BASELINE: Final = 2


class SlabPool:
    """A pool of slabs of one size."""

    __slots__ = ("_size", "_slabs")

    def __init__(self) -> None:
        self._size = 0
        self._slabs: list[Bytes] = []

    def take(self, size: int) -> Bytes:
        """Return an unreferenced slab of at least `size` bytes, and not many more."""
        if not size <= self._size <= ROOMIEST * size:
            self._slabs.clear()
            self._size = size
        for place in range(len(self._slabs)):
            if sys.getrefcount(self._slabs[place]) <= _BASELINE:
                return self._slabs.pop(place)
        return np.empty(self._size, np.uint8)

    def give_back(self, slab: Bytes) -> None:
        """Keep a slab for reuse; it may still have references."""
        if len(slab) == self._size:
            self._slabs.append(slab)
            del self._slabs[:-KEPT]


class SlabLayout:
    """The start of each column of a chunk in its slab."""

    __slots__ = ("_is_view", "_names", "size")

    def __init__(self, columns: tuple[str, ...], *, is_view: bool) -> None:
        self._names = frozenset(columns)
        self._is_view = is_view
        self.size = 0

    def carve(self, plan: Words, max_rows: int, max_bytes: int) -> int:
        """Write the starts into a plan; return the size of the slab."""
        plan[: at.COLUMN_WORDS] = -1
        plan[at.P_MAX_ROWS] = max_rows
        plan[at.P_MAX_BYTES] = max_bytes
        self.size = 0
        for name, word, width in _NUMBERS:
            if name in self._names:
                self._cut(plan, word, width * max_rows)
        headers = max_bytes // at.HEADER_COST
        for name, words, rows in (
            ("key", (at.P_KEY, at.P_KEY_BITS, at.P_KEY_DATA), max_rows),
            ("value", (at.P_VALUE, at.P_VALUE_BITS, at.P_VALUE_DATA), max_rows),
            ("headers", _HEADER_VALUES, headers),
        ):
            if name in self._names:
                self._cut_bytes(plan, words, rows, max_bytes)
        if "headers" in self._names:
            self._cut(plan, at.P_HEADERS, 4 * (max_rows + 1))
            self._cut(plan, at.P_HEADER_KEY, 4 * (headers + 1))
            self._cut(plan, at.P_HEADER_KEY_DATA, max_bytes)
        plan[at.P_SLAB_BYTES] = self.size
        return self.size

    def _cut_bytes(
        self, plan: Words, words: tuple[int, int, int], rows: int, max_bytes: int
    ) -> None:
        """Cut a column of bytes: a start or a view per row, a bit per row, and the bytes."""
        starts, bits, data = words
        if self._is_view and starts != at.P_HEADER_VALUE:
            self._cut(plan, starts, 16 * rows)
        else:
            self._cut(plan, starts, 4 * (rows + 1))
            self._cut(plan, data, max_bytes)
        self._cut(plan, bits, rows // 8 + 1)

    def _cut(self, plan: Words, word: int, size: int) -> None:
        """Cut one slice, with spare room after it, so that the next one is aligned."""
        plan[word] = self.size
        self.size += -(-(size + at.SLACK) // 64) * 64


_HEADER_VALUES: Final = (at.P_HEADER_VALUE, at.P_HEADER_VALUE_BITS, at.P_HEADER_VALUE_DATA)
_NUMBERS: Final = (
    ("offset", at.P_OFFSET, 8),
    ("timestamp", at.P_TIMESTAMP, 8),
    ("timestamp_type", at.P_TIMESTAMP_TYPE, 1),
    ("partition_leader_epoch", at.P_LEADER_EPOCH, 4),
    ("producer_id", at.P_PRODUCER_ID, 8),
    ("producer_epoch", at.P_PRODUCER_EPOCH, 2),
    ("sequence", at.P_SEQUENCE, 4),
)
