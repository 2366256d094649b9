"""Segments of one log, sorted by base offset (Kafka: `LogSegments`).

The last segment is the active one. A segment has the offsets from its base offset up to the next
one's; the active segment ends at the log end. This module does no I/O.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from cordwood.core.types import Offset
from cordwood.storage.segment.log_segment import LogSegment


class LogSegments:
    """A sorted list of segments with lookups by offset; `removals` counts the removed ones."""

    __slots__ = ("_bases", "_segments", "removals")

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._segments: list[LogSegment] = []
        self.removals = 0

    def __iter__(self) -> Iterator[LogSegment]:
        return iter(tuple(self._segments))

    def __len__(self) -> int:
        return len(self._segments)

    def __contains__(self, base_offset: int) -> bool:
        place = bisect_left(self._bases, base_offset)
        return place < len(self._bases) and self._bases[place] == base_offset

    @property
    def first(self) -> LogSegment:
        return self._segments[0]

    @property
    def active(self) -> LogSegment:
        """The segment that receives appends."""
        return self._segments[-1]

    @property
    def size(self) -> int:
        """The bytes of all `.log` files."""
        return sum(segment.size for segment in self._segments)

    @property
    def base_offsets(self) -> tuple[int, ...]:
        return tuple(self._bases)

    def add(self, segment: LogSegment) -> None:
        assert segment.base_offset not in self, "base offsets are unique"
        place = bisect_left(self._bases, segment.base_offset)
        self._bases.insert(place, segment.base_offset)
        self._segments.insert(place, segment)

    def remove(self, segment: LogSegment) -> None:
        place = bisect_left(self._bases, segment.base_offset)
        assert self._segments[place] is segment, "the segment is in the list"
        self.removals += 1
        del self._bases[place]
        del self._segments[place]

    def floor(self, offset: int) -> LogSegment | None:
        """Return the segment whose range has `offset`; None below the first segment."""
        place = bisect_right(self._bases, offset)
        return self._segments[place - 1] if place else None

    def from_floor(self, offset: int) -> tuple[LogSegment, ...]:
        """Return the segment with `offset`, or else the first one, and all later ones."""
        return tuple(self._segments[max(0, bisect_right(self._bases, offset) - 1) :])

    def between(self, first: int, end: int) -> tuple[LogSegment, ...]:
        """Return the segments that may hold offsets from `first` up to, not including, `end`."""
        stop = bisect_left(self._bases, end)
        return tuple(self._segments[max(0, bisect_right(self._bases, first) - 1) : stop])

    def higher(self, segment: LogSegment) -> LogSegment | None:
        """Return the next segment; None for the active one (Kafka: `higherSegment`)."""
        place = bisect_right(self._bases, segment.base_offset)
        return self._segments[place] if place < len(self._segments) else None

    def end_of(self, segment: LogSegment, log_end: int) -> Offset:
        """Return the end of a segment's range."""
        following = self.higher(segment)
        return Offset(log_end) if following is None else Offset(following.base_offset)
