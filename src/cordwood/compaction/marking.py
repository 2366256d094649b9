"""Sets the marks of a stretch: a key map goes over the log, a range of hashes after the other.

All dirty records are learnt, for any of them may be the last of a key; looked up are the clean ones
of the stretch. What is seen of dirty records is the same in each stretch, so it counts once.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from cordwood.compaction.chunks import ChunkReader
from cordwood.compaction.engine import HASHES, Chunk, Engine
from cordwood.compaction.job import CleaningFailedError, CleaningJob, PassControl
from cordwood.compaction.marks import Marks
from cordwood.compaction.stretches import Stretch, Surveyed


class Marking:
    """What key maps are asked for, and what they have seen so far."""

    __slots__ = (
        "_control", "_engine", "_job", "_reader", "_unkeyed_clean", "_unkeyed_dirty", "keys",
        "ranges",
    )  # fmt: skip

    def __init__(
        self, job: CleaningJob, *, engine: Engine, reader: ChunkReader, control: PassControl
    ) -> None:
        self.keys = 0
        self.ranges = 0
        self._control = control
        self._job = job
        self._engine = engine
        self._reader = reader
        self._unkeyed_clean = 0
        self._unkeyed_dirty = 0

    @property
    def unkeyed(self) -> int:
        """How many records without a key were learnt or looked up."""
        return self._unkeyed_clean + self._unkeyed_dirty

    def marks_of(self, stretch: Stretch, log: Iterable[Sequence[Surveyed]]) -> Marks:
        """Return the marks of a stretch of the log, which is all groups."""
        first_dirty = self._job.plan.first_dirty
        marks = Marks(stretch.marks)
        room = self._room_beside(marks, stretch)
        key_map = self._engine.key_map(
            marks, room, erased=self._job.plan.erased_keys, seed=self._job.seed
        )
        learn = partial(key_map.learn, first_offset=first_dirty)
        look_up = partial(key_map.look_up, end_offset=first_dirty)
        dirty = [each for group in log for each in group if each.source.end_offset > first_dirty]
        clean = [
            each
            for group in stretch.groups
            for each in group
            if each.source.base_offset < first_dirty
        ]
        begin = 0
        while begin < HASHES:
            key_map.begin(begin)
            self._visit(dirty, stretch, on_chunk=learn)
            if begin == 0:
                self._unkeyed_dirty = key_map.unkeyed
            self._visit(clean, stretch, on_chunk=look_up)
            end = key_map.settle()
            if begin == 0:
                size = sum(each.survey.size for each in (*dirty, *clean))
                self._control.expect(size * (HASHES - end) // end)
            begin = end
            self.ranges += 1
        self.keys = key_map.keys
        self._unkeyed_clean += key_map.unkeyed - self._unkeyed_dirty
        return marks

    def _room_beside(self, marks: Marks, stretch: Stretch) -> int:
        """Return what marks leave to a key map: half of the memory at least."""
        memory = self._job.memory_bytes
        if 2 * marks.size > memory:
            raise CleaningFailedError(
                f"{self._job.directory}: segments that are to become one have {stretch.records} "
                f"records, too many for {memory} bytes of memory: "
                "raise log.cleaner.dedupe.buffer.size"
            )
        return memory - marks.size

    def _visit(
        self, segments: Iterable[Surveyed], stretch: Stretch, *, on_chunk: Callable[[Chunk], object]
    ) -> None:
        def renumbered(chunk: Chunk) -> None:
            on_chunk(stretch.renumbered(chunk))

        for source, survey in segments:
            self._reader.visit(source, survey, on_chunk=renumbered)
