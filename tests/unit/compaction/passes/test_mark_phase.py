"""Marks depend on all dirty records, and on the clean ones of the window."""

import pytest

from cordwood.compaction.cleaning_job import CleaningFailedError, CleaningJob
from cordwood.compaction.engine.header_survey import HeaderSurvey, PlainSurveyor
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.passes.chunk_reader import ChunkReader
from cordwood.compaction.passes.mark_phase import MarkPhase
from cordwood.compaction.passes.mark_windows import MarkWindow, SurveyedSegment, split_into_windows
from cordwood.compaction.plan.cleaning_plan import SourceSegment
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.compaction.cleaned_log import Watched
from tests.unit.compaction.compaction_samples import batch, marked, plan
from tests.unit.compaction.engine.test_plain_key_map import ONE_KEY

DIRECTORY = "/t-0"
#: Each segment is a group, and has two records.
SEGMENTS = ("a1 b2", "-3 c4", "a5 -6", "d7 b-")


class Marked:
    """A log whose first two segments are clean, and its marks, window by window."""

    def __init__(self, memory_bytes: int) -> None:
        files = MemoryFiles()
        files.make_directory(DIRECTORY)
        self.log: list[list[SurveyedSegment]] = []
        given = plan(first_dirty=4)
        job = CleaningJob(
            directory=DIRECTORY, plan=given, memory_bytes=memory_bytes, io_buffer_bytes=100
        )
        control = Watched()
        reader = ChunkReader(files, DIRECTORY, io_buffer_bytes=100, control=control)
        survey = HeaderSurvey(given, list)
        for number, text in enumerate(SEGMENTS):
            base, data = 2 * number, batch(2 * number, text)
            files.create(f"{DIRECTORY}/{base:020}.log").append(data)
            source = SourceSegment(base, base + 2, len(data), 0, 0, 0)
            survey.begin(base)
            with reader.summaries(source, PlainSurveyor()) as summaries:
                for chunk, summary in summaries:
                    survey.add(chunk, summary)
            self.log.append([SurveyedSegment(source, survey.segments[-1])])
        self.mark_phase = MarkPhase(job, engine=PLAIN, reader=reader, control=control)
        self.surveyed_bytes, self.control = control.bytes, control
        self.size = sum(each.survey.size for group in self.log for each in group)

    def letters(self, window: MarkWindow) -> str:
        """Return the marks of a window's own records."""
        letters = marked(self.mark_phase.set_marks(window, self.log))
        return letters[window.spare : window.spare + window.records]


def test_marks_in_one_window_are_those_of_the_whole_log() -> None:
    found = Marked(1 << 20)

    (window,) = split_into_windows(found.log, memory_bytes=1 << 20)

    assert found.letters(window) == "xxxooxot"
    assert (found.mark_phase.keys, found.mark_phase.ranges, found.mark_phase.unkeyed) == (3, 1, 2)


def test_marks_in_several_windows_are_the_same_and_counts_are_not_repeated() -> None:
    found = Marked(10)

    several = split_into_windows(found.log, memory_bytes=1)

    assert "".join(map(found.letters, several)) == "xxxooxot"
    assert (len(several), found.mark_phase.keys, found.mark_phase.unkeyed) == (4, 3, 2)


def test_segments_is_read_once_where_none_is_clean_in_part() -> None:
    found = Marked(1 << 20)

    found.letters(MarkWindow(found.log, 0, 8))

    assert found.control.bytes - found.surveyed_bytes == found.size


@pytest.mark.parametrize(("memory_bytes", "ranges"), ((2 + 3 * ONE_KEY, 1), (1 + 3 * ONE_KEY, 2)))
def test_marks_and_keys_share_the_memory(memory_bytes: int, ranges: int) -> None:
    """Eight records have marks of two bytes; three keys are dirty."""
    found = Marked(memory_bytes)

    found.letters(MarkWindow(found.log, 0, 8))

    assert found.mark_phase.ranges == ranges
    assert found.control.expected == (ranges - 1) * found.size


def test_marks_may_use_half_of_the_memory() -> None:
    found = Marked(4)

    assert found.letters(MarkWindow(found.log, 0, 8)) == "xxxooxot"


def test_marks_leave_half_of_the_memory_or_none_are_set() -> None:
    found = Marked(3)

    with pytest.raises(CleaningFailedError, match=r"8 records.*raise log\.cleaner\.dedupe"):
        found.letters(MarkWindow(found.log, 0, 8))
