"""The parts of a distributed pass, and the values that its phases exchange.

    survey ──► PassPart ──► collect ──► PartKeys ──► resolve ──► GroupSurvivors ──► rewrite
               chunks of               one bucket               one group              │
               one group                                                         WrittenGroup

A part is some adjacent chunks of one group. A bucket is the keys whose hashes have the same bits.
Both are as small as the memory of one task requires.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from cordwood.compaction.certificate import PassCounts
from cordwood.compaction.cleaning_job import CleanedGroup
from cordwood.compaction.engine.batch_retention import SegmentSurvey
from cordwood.compaction.engine.engine import MOST_BUCKETS, KeyBlock
from cordwood.compaction.passes.cleaning_pass import KeyStats
from cordwood.compaction.passes.mark_windows import MarkWindow, SurveyedSegment, window_of

if TYPE_CHECKING:
    from array import array

#: Upper bound of what a record takes in addition to its key, where it is collected and resolved.
_RECORD_BYTES: Final = 128


class PassPart(NamedTuple):
    """Some adjacent chunks of one group."""

    group: int
    segments: tuple[SurveyedSegment, ...]

    @property
    def window(self) -> MarkWindow:
        """The window that holds the records of the part alone."""
        return window_of(self.segments)


class PartKeys(NamedTuple):
    """The keys of one bucket that survive within a part; `unkeyed` of its records have no key."""

    group: int
    first_number: int
    dirty: KeyBlock
    clean: KeyBlock
    unkeyed: int = 0


class GroupSurvivors(NamedTuple):
    """The words of one group's records that are the last of their keys, of one bucket.

    `stats` is the bucket's share of the totals.
    """

    group: int
    words: "array[int]"
    stats: KeyStats


class WrittenGroup(NamedTuple):
    """A rewritten group, its counts, and the totals of the buckets that it received."""

    cleaned: CleanedGroup
    counts: PassCounts
    stats: KeyStats


def split_into_parts(
    groups: Sequence[Sequence[SurveyedSegment]], *, part_bytes: int
) -> list[PassPart]:
    """Split groups between chunks, into parts of at least `part_bytes` of the log.

    A part exceeds that by one chunk at most; the last part of a group may be smaller. Each group
    has at least one part, and each part one chunk, unless the group is empty.
    """
    return [
        PassPart(number, segments)
        for number, group in enumerate(groups)
        for segments in cut_segments(group, _log_bytes, most=part_bytes)
    ]


def count_buckets(groups: Sequence[Sequence[SurveyedSegment]], *, memory_bytes: int) -> int:
    """Return how many buckets there must be so that each one fits the memory.

    It is a power of two. Compressed keys may take more than their share of the log does.
    """
    surveys = [each.survey for group in groups for each in group]
    most = sum(map(collected_bytes, surveys))
    needed = max(1, -(-most // memory_bytes))
    return min(MOST_BUCKETS, 1 << (needed - 1).bit_length())


def cut_segments(
    group: Sequence[SurveyedSegment], weigh: Callable[[SegmentSurvey], int], *, most: int
) -> Iterator[tuple[SurveyedSegment, ...]]:
    """Yield cuts of a group, each as soon as its chunks weigh `most`; an empty group is one cut."""
    cut, taken = list[SurveyedSegment](), 0
    for source, survey in group:
        begin, count = 0, len(survey.chunk_positions)
        for stop in range(1, count + 1):
            taken += weigh(survey.slice_chunks(stop - 1, stop))
            if taken >= most:
                yield (*cut, SurveyedSegment(source, survey.slice_chunks(begin, stop)))
                cut, taken, begin = [], 0, stop
        if begin < count:
            cut.append(SurveyedSegment(source, survey.slice_chunks(begin, count)))
    if cut:
        yield tuple(cut)
    elif not any(each.survey.size for each in group):
        yield tuple(group)


def collected_bytes(survey: SegmentSurvey) -> int:
    """Return an upper bound of what the records of chunks take when they are collected."""
    return _log_bytes(survey) + _RECORD_BYTES * survey.records


def _log_bytes(survey: SegmentSurvey) -> int:
    """Return the length of chunks."""
    first = survey.chunk_positions[0] if survey.chunk_positions else 0
    return survey.size - first
