"""Segments of a directory by their file names, also during or after an interrupted swap.

    .log                 a segment
    .log.swap            a complete segment, which replaces those in its range of offsets
    .cleaned             an incomplete segment, ignored. A .swap at or above the lowest .cleaned is
                         of an incomplete set: it is ignored, and its sources still exist
    .deleted             a deleted segment, ignored

The result is that of `log.crash_cleanup`, without a change of the directory.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from cordwood.core.errors import CordwoodError
from cordwood.core.types import Offset
from cordwood.storage.files import file_names
from cordwood.storage.files.file_names import SegmentName, parse_segment_name, segment_name


class SegmentChangedError(CordwoodError):
    """A segment has changed since its lookup: the reader has to look it up again."""


class ListedSegment(NamedTuple):
    """A segment and the suffix of its files; the extensions of indexes that are still `.swap`."""

    base_offset: int
    suffix: str = ""
    swapped: tuple[str, ...] = ()

    def name(self, extension: str) -> str:
        """Return the name of one of its files."""
        return segment_name(Offset(self.base_offset), extension, suffix=self.suffix)

    def index_names(self, extension: str) -> tuple[str, ...]:
        """Return the names that one of its indexes may have.

        A broker that completes a swap renames the log first. If it is stopped then, the index still
        has the suffix `.swap`.
        """
        name = self.name(extension)
        return (name, f"{name}{file_names.SWAP}") if extension in self.swapped else (name,)


def list_segments(
    found: Iterable[str], next_offset: Callable[[ListedSegment], int]
) -> list[ListedSegment]:
    """Return the segments in order; `next_offset` returns the end offset of a .swap segment."""
    parsed = [name for name in map(parse_segment_name, found) if name is not None]
    logs = [name for name in parsed if name.extension == file_names.LOG]
    half = _swapped_indexes(parsed)
    plain = [
        ListedSegment(each.base_offset, swapped=tuple(half.get(each.base_offset, ())))
        for each in logs
        if not each.suffix
    ]
    swapped = _complete(logs, parsed)
    if swapped:
        first = min(each.base_offset for each in swapped)
        end = max(map(next_offset, swapped))
        plain = [each for each in plain if not first <= each.base_offset < end]
    # An empty .swap covers no offsets; a plain segment of the same base offset replaces it then.
    return sorted({each.base_offset: each for each in (*swapped, *plain)}.values())


def pending_swaps(found: Iterable[str], listed: Iterable[ListedSegment]) -> list[ListedSegment]:
    """Return the .swap segments of complete sets that are not listed, as they cover no offsets."""
    unfinished = (name for name in found if name.endswith((file_names.SWAP, file_names.CLEANED)))
    parsed = [name for name in map(parse_segment_name, unfinished) if name is not None]
    logs = [name for name in parsed if name.extension == file_names.LOG]
    known = set(listed)
    return [each for each in _complete(logs, parsed) if each not in known]


def snapshot_offsets(found: Iterable[str]) -> list[int]:
    """Return the offsets of the producer snapshots in order."""
    names = (name for name in found if name.endswith(file_names.SNAPSHOT))
    parsed = (name for name in map(parse_segment_name, names) if name is not None)
    return sorted(each.base_offset for each in parsed)


def _swapped_indexes(parsed: list[SegmentName]) -> dict[int, list[str]]:
    """Return the extensions of the indexes with the suffix `.swap`, by base offset."""
    found: dict[int, list[str]] = {}
    for each in parsed:
        if each.suffix == file_names.SWAP and each.extension != file_names.LOG:
            found.setdefault(each.base_offset, []).append(each.extension)
    return found


def _complete(logs: list[SegmentName], parsed: list[SegmentName]) -> list[ListedSegment]:
    """Return the .swap segments of complete sets."""
    cleaned = [each.base_offset for each in parsed if each.suffix == file_names.CLEANED]
    return [
        ListedSegment(each.base_offset, each.suffix)
        for each in logs
        if each.suffix == file_names.SWAP and not (cleaned and each.base_offset >= min(cleaned))
    ]
