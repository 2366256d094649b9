"""Segments as chunks: whole batches, read into buffers that are used again.

The survey reads first, and finds where batches end: a chunk is as many whole batches as a buffer
holds, or one batch that is larger than it. From then on the same chunks are read by the positions
that were written down, the next one `ahead`. A segment that does not end with a batch, or is
shorter than it was, is damage, as are batches that no survey, key map or rewriter accepts: all say
file and position.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import cycle, pairwise

from cordwood.compaction.ahead import BUFFERS_AHEAD, ahead
from cordwood.compaction.engine import Chunk, Sighting, Surveyor
from cordwood.compaction.fates import SegmentSurvey
from cordwood.compaction.job import CleaningFailedError, CleaningStoppedError, PassControl
from cordwood.compaction.plan import SourceSegment
from cordwood.compaction.survey import Survey
from cordwood.core.errors import BadRecordsError
from cordwood.core.ports import Files, OpenFile, Worker
from cordwood.core.types import Offset
from cordwood.records.header import LARGEST_HEADER, read_header
from cordwood.records.place import Place
from cordwood.storage.names import LOG, segment_name


class ChunkReader:
    """Reads the segments of one directory. A chunk is valid until the next one is read.

    With a worker the buffer is halved, and one half is filled while the other is used.
    """

    __slots__ = ("_buffers", "_control", "_directory", "_files", "_worker")

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

    def survey(self, source: SourceSegment, surveyor: Surveyor, *, survey: Survey) -> None:
        """Let a segment be surveyed from its beginning to its end."""
        survey.begin(source.base_offset)
        position = 0
        with self._opened(source) as file:
            while position < source.size:
                with _located(file.path, position):
                    data, sighting = self._look(file, position, source.size, surveyor)
                    survey.add(data, sighting)
                position += sighting.size

    def visit(
        self,
        source: SourceSegment,
        surveyed: SegmentSurvey,
        *,
        on_chunk: Callable[[Chunk], object],
    ) -> None:
        """Hand the chunks of a segment over, one after the other."""
        bounds = tuple(pairwise((*surveyed.chunk_positions, surveyed.size)))
        with self._opened(source) as file, closing(self._parts(file, bounds)) as parts:
            for number, (start, end), data in zip(
                surveyed.chunk_numbers, bounds, parts, strict=True
            ):
                with _located(file.path, start):
                    self._take(data, end - start)
                    positions, fates = surveyed.between(start, end)
                    on_chunk(Chunk(data, start, number, positions, fates, source.modified_ms))

    def _parts(
        self, file: OpenFile, bounds: Sequence[tuple[int, int]]
    ) -> Generator[memoryview, None, None]:
        """Yield what lies between bounds, one after the other, in buffers that take turns."""
        turns = cycle(range(len(self._buffers)))
        reads = (
            partial(self._fill, file, start, end - start, turn=turn)
            for turn, (start, end) in zip(turns, bounds, strict=False)
        )
        return ahead(reads, self._worker)

    @contextmanager
    def _opened(self, source: SourceSegment) -> Iterator[OpenFile]:
        name = segment_name(Offset(source.base_offset), LOG)
        file = self._files.open(f"{self._directory}/{name}")
        try:
            yield file
        finally:
            file.close()

    def _look(  # tidy: allow[positional] a file, where to look in it, and who looks
        self, file: OpenFile, position: int, end: int, surveyor: Surveyor
    ) -> tuple[memoryview, Sighting]:
        """Return what begins at a position, and what is seen there: one batch at least."""
        data = self._read(file, position, end - position)
        sighting = surveyor.look(data)
        if not sighting.size:
            data = self._read_one(file, position, end - position, data)
            sighting = surveyor.look(data)
        return data, sighting

    def _read_one(  # tidy: allow[positional] a file and where to look in it
        self, file: OpenFile, position: int, room: int, begun: memoryview
    ) -> memoryview:
        """Return a batch that is larger than the buffer, of which the beginning was read."""
        header = read_header(begun)
        size = LARGEST_HEADER if header is None else header.size
        if size > room:
            raise Place(0).corrupt(
                "the last batch is cut off", expected=f"{size} bytes", found=f"{room} bytes"
            )
        return self._read(file, position, size, is_whole=True)

    def _read(  # tidy: allow[positional] a file and where to look in it
        self, file: OpenFile, position: int, length: int, *, is_whole: bool = False
    ) -> memoryview:
        """Return bytes from a position on: all of them, or as many as the buffer holds."""
        if not is_whole:
            length = min(length, len(self._buffers[0]))
        data = self._fill(file, position, length)
        self._take(data, length)
        return data

    def _fill(  # tidy: allow[positional] a file and where to look in it
        self, file: OpenFile, position: int, length: int, *, turn: int = 0
    ) -> memoryview:
        """Return so many bytes, or those that there are, in one of the buffers."""
        if length > len(self._buffers[turn]):
            self._buffers[turn] = memoryview(bytearray(length))
        into = self._buffers[turn][:length]
        return into[: file.pread_into(into, position)]

    def _take(self, data: memoryview, length: int) -> None:
        """Go on with what was read, if it is all, and nobody says to stop."""
        if self._control.is_stopped():
            raise CleaningStoppedError(f"{self._directory}: cleaning was stopped")
        if len(data) < length:
            raise Place(len(data)).corrupt(
                "a segment is shorter than it was", expected=length, found=len(data)
            )
        self._control.on_bytes(length)


@contextmanager
def _located(path: str, start: int) -> Iterator[None]:
    """Say of records that are refused in which file they are, and where in it."""
    try:
        yield
    except BadRecordsError as error:
        error.position = start + (error.position or 0)
        raise CleaningFailedError(f"{path}: {error}") from error
