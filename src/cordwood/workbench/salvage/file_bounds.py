"""Limits of the offsets of a log file, and the order of its batches within them."""

from collections.abc import Collection
from typing import NamedTuple

from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.workbench.salvage.offset_witnesses import NO_WITNESSES, FreeOffsets, OffsetWitnesses
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch


class FileBounds(NamedTuple):
    """The limits of a file: its base offset, that of the next file, and offsets of known ends.

    `epochs` are the leader epochs of the batches before and behind the file, if they are known. A
    cleaner has worked on the offsets below `cleaned_to`. `witnesses` are files next to the segment.
    """

    base: int | None = None
    following: int | None = None
    marks: frozenset[int] = frozenset()
    epochs: tuple[int | None, int | None] = (None, None)
    cleaned_to: int = 0
    witnesses: OffsetWitnesses = NO_WITNESSES

    @property
    def ends(self) -> Collection[int]:
        """The offsets where the file may end; ends named elsewhere are those of other files."""
        return self.marks - {0} if self.following is None else frozenset({self.following})

    @property
    def limit(self) -> int:
        """The offset at which the file ends at the latest: the next file's base, or its reach."""
        reach = INT64_MAX if self.base is None else self.base + INT32_MAX + 1
        return min(reach, INT64_MAX if self.following is None else self.following, INT64_MAX)

    def has_lost_tail(self, end: int) -> bool:
        """Return whether an index has an offset of the segment from `end` on."""
        return self.following is not None and end < self.witnesses.indexed.end <= self.following

    def contradicts(self, batch: SalvagedBatch) -> bool:
        """Return whether an epoch or a snapshot contradicts a batch, wherever the others are."""
        free = FreeOffsets(
            self.base or 0, self.limit, is_certain_before=False, is_certain_behind=False
        )
        return self.witnesses.contradict(batch, free)

    def has(self, batch: SalvagedBatch) -> bool:
        """Return whether a batch ends within the limits."""
        last = batch.last_offset
        return (self.base or 0) <= last and (self.following is None or last < self.following)


class OffsetOrder:
    """The order of a file's batches: whether they ascend within its bounds, one by one."""

    __slots__ = (
        "_after",
        "_before",
        "_bounds",
        "_ends",
        "_has_gap",
        "_high",
        "_is_joined",
        "_last",
    )

    def __init__(self, bounds: FileBounds) -> None:
        self._bounds = bounds
        self._ends = bounds.ends
        self._high = bounds.limit
        self._before = self._after = bounds.base
        self._is_joined = True
        self._has_gap = False
        self._last: SalvagedBatch | None = None

    def takes(self, batch: SalvagedBatch) -> bool:
        """Return whether a batch is behind the ones before it, and within the bounds."""
        start, end = self._after, batch.next_offset
        is_wrong = self._is_contradicted(batch.offset) or self._is_cut(batch, start or 0)
        self._is_joined = start is None or start == batch.offset or end in self._ends
        self._before, self._after, self._last = start, end, batch
        return not is_wrong and (start or 0) <= batch.offset < end <= self._high

    @property
    def is_certain(self) -> bool:
        """Return whether the last batch ends below the next file, or joins something."""
        bounds = self._bounds
        if self._last is None or self._after is None:
            return True
        if bounds.has_lost_tail(self._after) or self._is_contradicted(bounds.following):
            return False
        return self._is_joined or bounds.following is not None

    def _is_contradicted(self, end: int | None) -> bool:
        """Return whether a witness has another offset for the last batch, which has no damage."""
        room = FreeOffsets(self._before or 0, end)
        return self._last is not None and self._bounds.witnesses.contradict(self._last, room)

    def _is_cut(self, batch: SalvagedBatch, start: int) -> bool:
        """Return whether an index shows that bytes are missing before a batch, behind a gap."""
        self._has_gap = self._has_gap or start < batch.offset
        return self._has_gap and self._bounds.witnesses.indexed.missing_bytes(batch) > 0
