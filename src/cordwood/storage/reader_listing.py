"""Which segments a directory holds, by the names in it, whatever its owner is doing or was doing.

    .log                 a segment
    .log.swap            a segment too: complete, and in place of those that its offsets cover
    .cleaned, .deleted   none: half written, and gone; a .swap at or above the lowest .cleaned is
                         half of a set, and what it was to replace is still there

It is what `leftovers` would make of the directory, without touching it.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from cordwood.core.errors import CordwoodError
from cordwood.core.types import Offset
from cordwood.storage import names
from cordwood.storage.names import SegmentName, parse_segment_name, segment_name


class SegmentChangedError(CordwoodError):
    """A segment is not what it was a moment ago: whoever reads it has to look it up again."""


class ListedSegment(NamedTuple):
    """A segment there is, and the suffix that its files still have."""

    base_offset: int
    suffix: str = ""

    def name(self, extension: str) -> str:
        """Return the name of one of its files."""
        return segment_name(Offset(self.base_offset), extension, suffix=self.suffix)


def segments_among(
    found: Iterable[str], next_offset: Callable[[ListedSegment], int]
) -> list[ListedSegment]:
    """Return the segments in order; `next_offset` tells where the batches of a .swap end."""
    parsed = [name for name in map(parse_segment_name, found) if name is not None]
    logs = [name for name in parsed if name.extension == names.LOG]
    plain = [ListedSegment(each.base_offset) for each in logs if not each.suffix]
    swapped = _complete(logs, parsed)
    if swapped:
        first = min(each.base_offset for each in swapped)
        end = max(map(next_offset, swapped))
        plain = [each for each in plain if not first <= each.base_offset < end]
    # A .swap of no batches covers nothing; then the plain one of its name is as good.
    return sorted({each.base_offset: each for each in (*swapped, *plain)}.values())


def snapshot_offsets(found: Iterable[str]) -> list[int]:
    """Return the offsets of the producer snapshots in order."""
    parsed = [name for name in map(parse_segment_name, found) if name is not None]
    return sorted(
        each.base_offset for each in parsed if each.extension == names.SNAPSHOT and not each.suffix
    )


def _complete(logs: list[SegmentName], parsed: list[SegmentName]) -> list[ListedSegment]:
    """Return the segments that are about to take the place of others."""
    cleaned = [each.base_offset for each in parsed if each.suffix == names.CLEANED]
    return [
        ListedSegment(each.base_offset, each.suffix)
        for each in logs
        if each.suffix == names.SWAP and not (cleaned and each.base_offset >= min(cleaned))
    ]
