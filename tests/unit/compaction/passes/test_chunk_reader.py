"""Segments are read in chunks of whole batches, the same chunks each time."""

from typing import TYPE_CHECKING

import pytest

from cordwood.compaction.cleaning_job import CleaningFailedError, CleaningStoppedError
from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.engine.header_survey import HeaderSurvey, PlainSurveyor
from cordwood.compaction.passes.chunk_reader import ChunkReader
from cordwood.compaction.passes.mark_windows import SurveyedSegment
from cordwood.compaction.plan.cleaning_plan import SourceSegment
from cordwood.core.ports import Worker
from cordwood.core.system import ThreadWorker
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.compaction.cleaned_log import Watched
from tests.unit.compaction.compaction_samples import batch, chunk, plan

if TYPE_CHECKING:
    from cordwood.compaction.engine.segment_chunk import SegmentChunk

DIRECTORY = "/t-0"
SIZE = len(batch(0, "a1"))
BATCHES = tuple(batch(at, "a1") for at in range(5))


def holding(data: bytes) -> MemoryFiles:
    files = MemoryFiles()
    files.make_directory(DIRECTORY)
    files.create(f"{DIRECTORY}/{0:020}.log").append(data)
    return files


class ReadSegment:
    """A surveyed segment; its chunks are copied, because the buffer is reused."""

    def __init__(
        self,
        data: bytes,
        *,
        buffer: int = 1 << 10,
        control: Watched | None = None,
        worker: Worker | None = None,
        cut_to: int | None = None,
    ) -> None:
        self.chunks: list[SegmentChunk] = []
        self.control = control or Watched()
        source = SourceSegment(0, 5, len(data), 0, 0, modified_ms=77)
        self.survey = HeaderSurvey(plan(end=5), list)
        files = holding(data)
        reader = ChunkReader(
            files, DIRECTORY, io_buffer_bytes=buffer, control=self.control, worker=worker
        )
        survey_segment(reader, source, self.survey)
        if cut_to is not None:
            files.open(f"{DIRECTORY}/{0:020}.log", writable=True).truncate(cut_to)
        surveyed = SurveyedSegment(source, self.survey.segments[0])
        with reader.chunks([surveyed]) as chunks:
            for found in chunks:
                self.chunks.append(found._replace(data=bytes(found.data)))


def survey_segment(reader: ChunkReader, source: SourceSegment, survey: HeaderSurvey) -> None:
    survey.begin(source.base_offset)
    with reader.summaries(source, PlainSurveyor(survey.last_offsets)) as summaries:
        for data, summary in summaries:
            survey.add(data, summary)


def test_each_chunk_has_whole_batches_that_fit_the_buffer() -> None:
    read = ReadSegment(b"".join(BATCHES), buffer=2 * SIZE + 5)

    assert [each.data for each in read.chunks] == [
        BATCHES[0] + BATCHES[1],
        BATCHES[2] + BATCHES[3],
        BATCHES[4],
    ]
    assert [(each.position, each.first_number) for each in read.chunks] == [
        (0, 0),
        (2 * SIZE, 2),
        (4 * SIZE, 4),
    ]


def test_chunk_has_the_retentions_of_its_batches_and_the_segment_timestamp() -> None:
    read = ReadSegment(b"".join(BATCHES), buffer=2 * SIZE)

    expected = chunk(
        BATCHES[4], retentions={0: BatchRetention.RETAIN_EMPTY}, first_number=4, modified_ms=77
    )
    assert read.chunks[-1] == expected._replace(position=4 * SIZE)
    assert not read.chunks[0].positions


def test_buffer_grows_for_a_batch_that_is_larger() -> None:
    large = batch(1, " ".join(["a" + "x" * 100] * 9))

    read = ReadSegment(BATCHES[0] + large + BATCHES[4], buffer=SIZE + 20)

    assert [len(each.data) for each in read.chunks] == [SIZE, len(large), SIZE]


def test_buffer_holds_a_header_at_the_smallest_size() -> None:
    assert len(ReadSegment(b"".join(BATCHES), buffer=1).chunks) == 5


def test_empty_segment_has_no_chunks() -> None:
    read = ReadSegment(b"")

    assert (read.chunks, read.survey.segments[0].size) == ([], 0)


def test_all_read_bytes_are_reported() -> None:
    assert ReadSegment(b"".join(BATCHES)).control.bytes == 2 * 5 * SIZE


def test_reading_ends_when_it_is_stopped() -> None:
    with pytest.raises(CleaningStoppedError):
        ReadSegment(b"".join(BATCHES), control=Watched(stop_after=1))


@pytest.mark.parametrize(
    ("data", "words"),
    (
        (b"".join(BATCHES)[:-1], f"log: the last batch is cut off.*position {4 * SIZE}"),
        (BATCHES[0] + bytes(100), f"log: a batch size that cannot be.*position {SIZE}"),
        (BATCHES[0] + BATCHES[1][:16] + b"\7" + BATCHES[1][17:], f"magic.*position {SIZE}"),
        (BATCHES[0] + BATCHES[1][:30], f"log: the last batch is cut off.*position {SIZE}"),
    ),
)
def test_error_for_damage_names_file_and_position(data: bytes, words: str) -> None:
    with pytest.raises(CleaningFailedError, match=words):
        ReadSegment(data, buffer=SIZE + 20)


def test_segment_shorter_than_planned_is_rejected() -> None:
    source = SourceSegment(0, 5, 3 * SIZE, 0, 0, modified_ms=0)
    reader = ChunkReader(holding(BATCHES[0]), DIRECTORY, io_buffer_bytes=1 << 10, control=Watched())

    with pytest.raises(CleaningFailedError, match="shorter than it was"):
        survey_segment(reader, source, HeaderSurvey(plan(), list))


def test_chunks_are_the_same_bytes_when_they_are_read_ahead() -> None:
    data, room = b"".join(BATCHES), 2 * SIZE + 5

    ahead = ReadSegment(data, buffer=2 * room, worker=ThreadWorker(1))

    assert ahead.chunks == ReadSegment(data, buffer=room).chunks


def test_stop_and_damage_are_raised_when_chunks_are_read_ahead() -> None:
    worker = ThreadWorker(1)

    with pytest.raises(CleaningStoppedError):
        ReadSegment(
            b"".join(BATCHES), buffer=2 * SIZE, control=Watched(stop_after=7), worker=worker
        )
    with pytest.raises(CleaningFailedError, match=f"shorter.*position {2 * SIZE}"):
        ReadSegment(b"".join(BATCHES), buffer=2 * SIZE, cut_to=2 * SIZE, worker=worker)
