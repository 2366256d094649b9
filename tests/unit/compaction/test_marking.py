"""Marks are set by all dirty records, and the clean ones of the stretch."""

import pytest

from cordwood.compaction.chunks import ChunkReader
from cordwood.compaction.job import CleaningFailedError, CleaningJob
from cordwood.compaction.marking import Marking
from cordwood.compaction.plain import PLAIN
from cordwood.compaction.plan import SourceSegment
from cordwood.compaction.sighting import PlainSurveyor
from cordwood.compaction.stretches import Stretch, Surveyed, stretches
from cordwood.compaction.survey import Survey
from cordwood.testing.files import MemoryFiles
from tests.unit.compaction.cleaning import Watched
from tests.unit.compaction.compaction_samples import batch, marked, plan
from tests.unit.compaction.test_keymap import ONE_KEY

DIRECTORY = "/t-0"
#: Each is a group of its own, and of two records.
SEGMENTS = ("a1 b2", "-3 c4", "a5 -6", "d7 b-")


class Marked:
    """A log whose first two segments are clean, and its marks in stretches."""

    def __init__(self, memory_bytes: int) -> None:
        files = MemoryFiles()
        files.make_directory(DIRECTORY)
        self.log: list[list[Surveyed]] = []
        given = plan(first_dirty=4)
        job = CleaningJob(
            directory=DIRECTORY, plan=given, memory_bytes=memory_bytes, io_buffer_bytes=100
        )
        control = Watched()
        reader = ChunkReader(files, DIRECTORY, io_buffer_bytes=100, control=control)
        survey = Survey(given, list)
        for number, text in enumerate(SEGMENTS):
            base, data = 2 * number, batch(2 * number, text)
            files.create(f"{DIRECTORY}/{base:020}.log").append(data)
            source = SourceSegment(base, base + 2, len(data), 0, 0, 0)
            reader.survey(source, PlainSurveyor(), survey=survey)
            self.log.append([Surveyed(source, survey.segments[-1])])
        self.marking = Marking(job, engine=PLAIN, reader=reader, control=control)
        self.surveyed_bytes, self.control = control.bytes, control
        self.size = sum(each.survey.size for group in self.log for each in group)

    def letters(self, stretch: Stretch) -> str:
        """Return the marks of a stretch's own records."""
        letters = marked(self.marking.marks_of(stretch, self.log))
        return letters[stretch.spare : stretch.spare + stretch.records]


def test_marks_are_those_of_the_whole_log_in_one_stretch() -> None:
    found = Marked(1 << 20)

    (stretch,) = stretches(found.log, memory_bytes=1 << 20)

    assert found.letters(stretch) == "xxxooxot"
    assert (found.marking.keys, found.marking.ranges, found.marking.unkeyed) == (3, 1, 2)


def test_marks_are_the_same_in_several_stretches_and_what_is_seen_counts_once() -> None:
    found = Marked(10)

    several = stretches(found.log, memory_bytes=1)

    assert "".join(map(found.letters, several)) == "xxxooxot"
    assert (len(several), found.marking.keys, found.marking.unkeyed) == (4, 3, 2)


def test_each_segment_is_read_once_where_none_is_clean_in_part() -> None:
    found = Marked(1 << 20)

    found.letters(Stretch(found.log, 0, 8))

    assert found.control.bytes - found.surveyed_bytes == found.size


@pytest.mark.parametrize(("memory_bytes", "ranges"), ((2 + 3 * ONE_KEY, 1), (1 + 3 * ONE_KEY, 2)))
def test_marks_and_keys_share_the_memory(memory_bytes: int, ranges: int) -> None:
    """Eight records have marks of two bytes, and three keys are dirty."""
    found = Marked(memory_bytes)

    found.letters(Stretch(found.log, 0, 8))

    assert found.marking.ranges == ranges
    assert found.control.expected == (ranges - 1) * found.size


def test_marks_may_take_half_of_the_memory() -> None:
    found = Marked(4)

    assert found.letters(Stretch(found.log, 0, 8)) == "xxxooxot"


def test_marks_leave_half_of_the_memory_or_none_are_set() -> None:
    found = Marked(3)

    with pytest.raises(CleaningFailedError, match=r"8 records.*raise log\.cleaner\.dedupe"):
        found.letters(Stretch(found.log, 0, 8))
