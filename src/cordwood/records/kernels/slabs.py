"""Chunks that are used again: the first touch of fresh memory costs more than decoding into it.

A slab is handed out again only when nobody refers to it any more: the arrays cut from it, and the
Arrow buffers made from those, each hold a reference to it, so its count says so.
"""

import sys
from typing import Final

import numpy as np

from cordwood.records.kernels import layout as at
from cordwood.records.kernels.door import Bytes, Words

#: More free slabs than this are given back.
KEPT: Final = 4
#: A slab that is more times as large as what is asked for is not handed out.
ROOMIEST: Final = 4
#: The references there are when only the pool's list and the question itself know a slab.
_BASELINE: Final = 2


class SlabPool:
    """Slabs of one size, kept for the next chunk."""

    __slots__ = ("_size", "_slabs")

    def __init__(self) -> None:
        self._size = 0
        self._slabs: list[Bytes] = []

    def take(self, size: int) -> Bytes:
        """Return a slab of at least `size` bytes, and not many more, nobody else refers to."""
        if not size <= self._size <= ROOMIEST * size:
            self._slabs.clear()
            self._size = size
        for place in range(len(self._slabs)):
            if sys.getrefcount(self._slabs[place]) <= _BASELINE:
                return self._slabs.pop(place)
        return np.empty(self._size, np.uint8)

    def give_back(self, slab: Bytes) -> None:
        """Keep a slab, which others may still refer to, for when they do not any more."""
        if len(slab) == self._size:
            self._slabs.append(slab)
            del self._slabs[:-KEPT]


class Carving:
    """Where each column of a chunk begins in its slab."""

    __slots__ = ("_is_view", "_names", "size")

    def __init__(self, columns: tuple[str, ...], *, is_view: bool) -> None:
        self._names = frozenset(columns)
        self._is_view = is_view
        self.size = 0

    def carve(self, plan: Words, max_rows: int, max_bytes: int) -> int:
        """Write the places into a plan; returns the size of the slab they need."""
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
        return self.size

    def _cut_bytes(
        self, plan: Words, words: tuple[int, int, int], rows: int, max_bytes: int
    ) -> None:
        """Cut a column of bytes: a start or a view a row, a bit a row, and the bytes."""
        starts, bits, data = words
        if self._is_view and starts != at.P_HEADER_VALUE:
            self._cut(plan, starts, 16 * rows)
        else:
            self._cut(plan, starts, 4 * (rows + 1))
            self._cut(plan, data, max_bytes)
        self._cut(plan, bits, rows // 8 + 1)

    def _cut(self, plan: Words, word: int, size: int) -> None:
        """Cut one stretch, with room behind it, so that the next one is aligned."""
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
