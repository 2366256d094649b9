"""Windows of a log that are rewritten one at a time, each as large as memory for its marks allows.

Usually one window holds the whole log. Otherwise the key map reads the log once for each window,
and only the records of the window have marks of their own. All records before it share a few spare
marks, and so do all records behind it; the rewrite never reads those. The order of the numbers
stays, so the last record of a key stays the same.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from cordwood.compaction.engine.batch_retention import SegmentSurvey
from cordwood.compaction.engine.record_marks import max_records
from cordwood.compaction.engine.segment_chunk import SegmentChunk
from cordwood.compaction.plan.cleaning_plan import SourceSegment


class SurveyedSegment(NamedTuple):
    """A segment and the survey of its headers."""

    source: SourceSegment
    survey: SegmentSurvey


class MarkWindow(NamedTuple):
    """Groups that are rewritten together, and their records, from `first_number` of the log on.

    `spare` marks precede those of its records, and as many follow them.
    """

    groups: Sequence[Sequence[SurveyedSegment]]
    first_number: int
    records: int
    spare: int = 0

    @property
    def marks(self) -> int:
        """The number of marks, spare ones included."""
        return self.records + 2 * self.spare

    def renumber(self, chunk: SegmentChunk) -> SegmentChunk:
        """Return a chunk of the log with the numbers that its records have in the marks."""
        behind = self.spare + self.records
        number = self.spare + chunk.first_number - self.first_number
        if number < self.spare:
            return chunk._replace(first_number=0)
        return chunk._replace(first_number=min(number, behind))


def window_of(segments: Sequence[SurveyedSegment]) -> MarkWindow:
    """Return the window that holds adjacent segments alone, as one group."""
    first, last = segments[0].survey, segments[-1].survey
    records = last.first_number + last.records - first.first_number
    return MarkWindow([segments], first.first_number, records)


def split_into_windows(
    groups: Sequence[Sequence[SurveyedSegment]], *, memory_bytes: int
) -> list[MarkWindow]:
    """Split a log into windows.

    The marks of a window exceed the memory only where the records of a single group do.
    """
    most = max_records(memory_bytes)
    starts = [group[0].survey.first_number for group in groups]
    last = groups[-1][-1].survey
    starts.append(last.first_number + last.records)
    if starts[-1] <= most:
        return [MarkWindow(groups, 0, starts[-1])]
    spare = max(_largest_chunk(each.survey) for group in groups for each in group)
    begins = [0]
    for number in range(1, len(groups)):
        if starts[number + 1] - starts[begins[-1]] > most - 2 * spare:
            begins.append(number)
    return [
        MarkWindow(groups[begin:end], starts[begin], starts[end] - starts[begin], spare)
        for begin, end in pairwise((*begins, len(groups)))
    ]


def _largest_chunk(survey: SegmentSurvey) -> int:
    """Return the number of records in a segment's largest chunk."""
    numbers = (*survey.chunk_numbers, survey.first_number + survey.records)
    return max((after - before for before, after in pairwise(numbers)), default=0)
