"""The segments of a log in the order of their base offsets; the last one is the active one.

Each holds the offsets from its base up to the next one's base; the active one ends where the log
ends. Nothing is opened, read or removed here.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from cordwood.core.types import Offset
from cordwood.storage.segment import Segment


class Segments:
    """A sorted list that is asked by offset."""

    __slots__ = ("_bases", "_segments")

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._segments: list[Segment] = []

    def __iter__(self) -> Iterator[Segment]:
        return iter(tuple(self._segments))

    def __len__(self) -> int:
        return len(self._segments)

    def __contains__(self, base_offset: int) -> bool:
        place = bisect_left(self._bases, base_offset)
        return place < len(self._bases) and self._bases[place] == base_offset

    @property
    def first(self) -> Segment:
        return self._segments[0]

    @property
    def active(self) -> Segment:
        """The one that is written to."""
        return self._segments[-1]

    @property
    def size(self) -> int:
        """The bytes of all logs, indexes aside."""
        return sum(segment.size for segment in self._segments)

    @property
    def base_offsets(self) -> tuple[int, ...]:
        return tuple(self._bases)

    def add(self, segment: Segment) -> None:
        assert segment.base_offset not in self, "one segment has a base offset"
        place = bisect_left(self._bases, segment.base_offset)
        self._bases.insert(place, segment.base_offset)
        self._segments.insert(place, segment)

    def remove(self, segment: Segment) -> None:
        place = bisect_left(self._bases, segment.base_offset)
        assert self._segments[place] is segment, "what is removed was there"
        del self._bases[place]
        del self._segments[place]

    def floor(self, offset: int) -> Segment | None:
        """Return the segment whose range `offset` falls into; None below the first."""
        place = bisect_right(self._bases, offset)
        return self._segments[place - 1] if place else None

    def from_floor(self, offset: int) -> tuple[Segment, ...]:
        """Return the segment that holds `offset`, or else the first one, and all after it."""
        return tuple(self._segments[max(0, bisect_right(self._bases, offset) - 1) :])

    def between(self, first: int, end: int) -> tuple[Segment, ...]:
        """Return the segments that may hold offsets from `first` up to, not including, `end`."""
        stop = bisect_left(self._bases, end)
        return tuple(self._segments[max(0, bisect_right(self._bases, first) - 1) : stop])

    def above(self, segment: Segment) -> Segment | None:
        """Return the next one; None after the active one."""
        place = bisect_right(self._bases, segment.base_offset)
        return self._segments[place] if place < len(self._segments) else None

    def end_of(self, segment: Segment, log_end: int) -> Offset:
        """Return where a segment's range ends."""
        following = self.above(segment)
        return Offset(log_end) if following is None else Offset(following.base_offset)
