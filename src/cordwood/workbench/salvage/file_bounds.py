"""Limits of the offsets of a log file, and the order of its batches within them."""

from collections.abc import Collection
from typing import NamedTuple

from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.workbench.salvage.indexed_offsets import IndexedOffsets
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch


class FileBounds(NamedTuple):
    """The limits of a file: its base offset, that of the next file, and offsets of known ends.

    `epochs` are the leader epochs of the batches before and behind the file, if they are known. A
    cleaner has worked on the offsets below `cleaned_to`. `indexed` are the indexes of the segment.
    """

    base: int | None = None
    following: int | None = None
    marks: frozenset[int] = frozenset()
    epochs: tuple[int | None, int | None] = (None, None)
    cleaned_to: int = 0
    indexed: IndexedOffsets = IndexedOffsets()

    @property
    def ends(self) -> Collection[int]:
        """The offsets where the file may end; ends named elsewhere are those of other files."""
        return self.marks - {0} if self.following is None else frozenset({self.following})

    @property
    def limit(self) -> int:
        """The offset at which the file ends at the latest: the next file's base, or its reach."""
        reach = INT64_MAX if self.base is None else self.base + INT32_MAX + 1
        return min(reach, INT64_MAX if self.following is None else self.following, INT64_MAX)

    def has(self, batch: SalvagedBatch) -> bool:
        """Return whether a batch ends within the limits."""
        last = batch.last_offset
        return (self.base or 0) <= last and (self.following is None or last < self.following)


class OffsetOrder:
    """The order of a file's batches: whether they ascend within its bounds, one by one."""

    __slots__ = ("_after", "_bounds", "_ends", "_high", "_is_joined", "_last")

    def __init__(self, bounds: FileBounds) -> None:
        self._bounds = bounds
        self._ends = bounds.ends
        self._high = bounds.limit
        self._after = bounds.base
        self._is_joined = True
        self._last: SalvagedBatch | None = None

    def takes(self, batch: SalvagedBatch) -> bool:
        """Return whether a batch is behind the ones before it, and within the bounds."""
        start, end = self._after, batch.next_offset
        self._is_joined = start is None or start == batch.offset or end in self._ends
        self._after = end
        is_indexed = start is not None and self._is_indexed(batch, start, batch.offset)
        self._last = batch
        return not is_indexed and (start or 0) <= batch.offset < end <= self._high

    @property
    def is_certain(self) -> bool:
        """Return whether the last batch ends below the next file, or joins something."""
        bounds = self._bounds
        if bounds.following is None:
            return self._is_joined
        return self._after is None or not self._is_indexed(None, self._after, bounds.following)

    def _is_indexed(self, batch: SalvagedBatch | None, start: int, end: int) -> bool:
        """Return whether a batch next to a gap has an offset in it by an index."""
        indexed = self._bounds.indexed
        return start < end and any(
            each is not None and indexed.has_between(each.header, start, end=end)
            for each in (self._last, batch)
        )
