"""Segments read as chunks of whole batches, in buffers that are reused.

The survey reads a segment first and finds where its batches end. A chunk is as many whole batches
as a buffer holds, or one batch that is larger than the buffer. Later reads return the same chunks,
by the positions that the survey recorded, and read one chunk ahead.

A segment that does not end with a batch, or is shorter than it was, is damaged. So is a batch that
the survey, the key map or the rewriter rejects. Every such error names the file and the position.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import cycle, pairwise

from cordwood.compaction.cleaning_job import CleaningFailedError, CleaningStoppedError, PassControl
from cordwood.compaction.engine.engine import ChunkSummary, Surveyor
from cordwood.compaction.engine.segment_chunk import SegmentChunk
from cordwood.compaction.passes.mark_windows import SurveyedSegment
from cordwood.compaction.plan.cleaning_plan import SourceSegment
from cordwood.compaction.read_ahead import BUFFERS_AHEAD, read_ahead
from cordwood.core.errors import BadRecordsError
from cordwood.core.ports import Files, OpenFile, Worker
from cordwood.core.types import Offset
from cordwood.records.batch_header import LARGEST_HEADER, read_header
from cordwood.records.batch_location import BatchLocation
from cordwood.storage.files.file_names import LOG, segment_name


class ChunkReader:
    """A reader of the segments of one directory; one chunk is in use at a time.

    A chunk is valid until the next one is read. With a worker the buffer is halved, and one half is
    filled while the other is in use.
    """

    __slots__ = ("_buffers", "_control", "_directory", "_files", "_path", "_position", "_worker")

    def __init__(
        self,
        files: Files,
        directory: str,
        *,
        io_buffer_bytes: int,
        control: PassControl,
        worker: Worker | None = None,
    ) -> None:
        self._files = files
        self._directory = directory
        self._control = control
        self._worker = worker
        count = 1 if worker is None else BUFFERS_AHEAD
        size = max(io_buffer_bytes // count, LARGEST_HEADER)
        self._buffers = [memoryview(bytearray(size)) for _ in range(count)]
        self._path, self._position = directory, 0

    @contextmanager
    def summaries(
        self, source: SourceSegment, surveyor: Surveyor
    ) -> Iterator[Iterator[tuple[memoryview, ChunkSummary]]]:
        """Provide a segment's bytes and their summaries, chunk by chunk, for the survey.

        On exit the file is closed. A BadRecordsError of the body becomes a CleaningFailedError with
        file and position.
        """
        with closing(self._summaries(source, surveyor)) as summaries, self._located():
            yield summaries

    @contextmanager
    def chunks(self, segments: Iterable[SurveyedSegment]) -> Iterator[Iterator[SegmentChunk]]:
        """Provide the chunks of surveyed segments, in order.

        On exit the file is closed, and no read is under way. Errors are as for `summaries`.
        """
        with closing(self._chunks(segments)) as chunks, self._located():
            yield chunks

    def _summaries(
        self, source: SourceSegment, surveyor: Surveyor
    ) -> Generator[tuple[memoryview, ChunkSummary], None, None]:
        position = 0
        with self._opened(source) as file:
            while position < source.size:
                self._position = position
                data, summary = self._summarize(file, position, source.size, surveyor)
                yield data, summary
                position += summary.size

    def _chunks(self, segments: Iterable[SurveyedSegment]) -> Generator[SegmentChunk, None, None]:
        for source, survey in segments:
            bounds = tuple(pairwise((*survey.chunk_positions, survey.size)))
            with self._opened(source) as file, closing(self._blocks(file, bounds)) as blocks:
                for number, (start, end), data in zip(
                    survey.chunk_numbers, bounds, blocks, strict=True
                ):
                    self._position = start
                    self._account_for(data, end - start)
                    positions, retentions = survey.retentions_between(start, end)
                    yield SegmentChunk(
                        data, start, number, positions, retentions, source.modified_ms
                    )

    def _blocks(
        self, file: OpenFile, bounds: Sequence[tuple[int, int]]
    ) -> Generator[memoryview, None, None]:
        """Yield the bytes between bounds, in buffers that take turns."""
        turns = cycle(range(len(self._buffers)))
        reads = (
            partial(self._fill, file, start, end - start, turn=turn)
            for turn, (start, end) in zip(turns, bounds, strict=False)
        )
        return read_ahead(reads, self._worker)

    @contextmanager
    def _opened(self, source: SourceSegment) -> Iterator[OpenFile]:
        name = segment_name(Offset(source.base_offset), LOG)
        file = self._files.open(f"{self._directory}/{name}")
        self._path = file.path
        try:
            yield file
        finally:
            file.close()

    @contextmanager
    def _located(self) -> Iterator[None]:
        """Add the file and the position of the present chunk to a BadRecordsError."""
        try:
            yield
        except BadRecordsError as error:
            error.position = self._position + (error.position or 0)
            raise CleaningFailedError(f"{self._path}: {error}") from error

    def _summarize(  # tidy: allow[positional] a file, a range of it, and the surveyor
        self, file: OpenFile, position: int, end: int, surveyor: Surveyor
    ) -> tuple[memoryview, ChunkSummary]:
        """Return the bytes from a position on, and their summary: of one batch at least."""
        data = self._read(file, position, end - position)
        summary = surveyor.summarize(data)
        if not summary.size:
            data = self._read_large_batch(file, position, end - position, data)
            summary = surveyor.summarize(data)
        return data, summary

    def _read_large_batch(  # tidy: allow[positional] a file and a range of it
        self, file: OpenFile, position: int, room: int, beginning: memoryview
    ) -> memoryview:
        """Return a batch that is larger than the buffer, given its first bytes."""
        header = read_header(beginning)
        size = LARGEST_HEADER if header is None else header.size
        if size > room:
            raise BatchLocation(0).corrupt(
                "the last batch is cut off", expected=f"{size} bytes", found=f"{room} bytes"
            )
        return self._read(file, position, size, is_whole=True)

    def _read(  # tidy: allow[positional] a file and a range of it
        self, file: OpenFile, position: int, length: int, *, is_whole: bool = False
    ) -> memoryview:
        """Return bytes from a position on: all of them, or as many as the buffer holds."""
        if not is_whole:
            length = min(length, len(self._buffers[0]))
        data = self._fill(file, position, length)
        self._account_for(data, length)
        return data

    def _fill(  # tidy: allow[positional] a file and a range of it
        self, file: OpenFile, position: int, length: int, *, turn: int = 0
    ) -> memoryview:
        """Return `length` bytes in one of the buffers; fewer where the file ends."""
        if length > len(self._buffers[turn]):
            self._buffers[turn] = memoryview(bytearray(length))
        into = self._buffers[turn][:length]
        return into[: file.pread_into(into, position)]

    def _account_for(self, data: memoryview, length: int) -> None:
        """Report the bytes read; raise if the pass was stopped, or if bytes are missing."""
        if self._control.is_stopped():
            raise CleaningStoppedError(f"{self._directory}: cleaning was stopped")
        if len(data) < length:
            raise BatchLocation(len(data)).corrupt(
                "a segment is shorter than it was", expected=length, found=len(data)
            )
        self._control.on_bytes(length)
