"""How much of a log is rewritten at a time: as many groups as there is memory for their marks.

Mostly that is all of it. Else the key map goes over the log once for each stretch, and only the
records of the stretch keep marks: those before it share some that nobody reads, and so do those
behind it. Their order stays, so what the last record of a key is does not change.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from cordwood.compaction.engine import Chunk
from cordwood.compaction.fates import SegmentSurvey
from cordwood.compaction.marks import most_records
from cordwood.compaction.plan import SourceSegment


class Surveyed(NamedTuple):
    """A segment, and what its headers say."""

    source: SourceSegment
    survey: SegmentSurvey


class Stretch(NamedTuple):
    """Groups that are rewritten together, and their records, from `first_number` of the log on.

    `spare` marks lie before those of its records, and as many behind.
    """

    groups: Sequence[Sequence[Surveyed]]
    first_number: int
    records: int
    spare: int = 0

    @property
    def marks(self) -> int:
        """How many marks there are."""
        return self.records + 2 * self.spare

    def renumbered(self, chunk: Chunk) -> Chunk:
        """Return a chunk of the log with the numbers that its records have in the marks."""
        behind = self.spare + self.records
        number = self.spare + chunk.first_number - self.first_number
        if number < self.spare:
            return chunk._replace(first_number=0)
        return chunk._replace(first_number=min(number, behind))


def stretches(groups: Sequence[Sequence[Surveyed]], *, memory_bytes: int) -> list[Stretch]:
    """Divide a log. Marks take more than the memory only where a single group's records do."""
    most = most_records(memory_bytes)
    starts = [group[0].survey.first_number for group in groups]
    last = groups[-1][-1].survey
    starts.append(last.first_number + last.records)
    if starts[-1] <= most:
        return [Stretch(groups, 0, starts[-1])]
    spare = max(_largest_chunk(each.survey) for group in groups for each in group)
    begins = [0]
    for number in range(1, len(groups)):
        if starts[number + 1] - starts[begins[-1]] > most - 2 * spare:
            begins.append(number)
    return [
        Stretch(groups[begin:end], starts[begin], starts[end] - starts[begin], spare)
        for begin, end in pairwise((*begins, len(groups)))
    ]


def _largest_chunk(survey: SegmentSurvey) -> int:
    """Return how many records a chunk of a segment has at the most."""
    numbers = (*survey.chunk_numbers, survey.first_number + survey.records)
    return max((after - before for before, after in pairwise(numbers)), default=0)
