"""The key map phase of a pass: sets the marks of one window (Kafka: `Cleaner.buildOffsetMap`).

The key map covers one range of key hashes after the other. For each range it reads the dirty
records of the whole log, because any of them may be the last of a key, then the clean records of
the window. All windows see the same dirty records, so these are counted once.
"""

from collections.abc import Iterable, Sequence

from cordwood.compaction.cleaning_job import CleaningFailedError, CleaningJob, PassControl
from cordwood.compaction.engine.engine import HASHES, Engine
from cordwood.compaction.engine.record_marks import Marks
from cordwood.compaction.passes.chunk_reader import ChunkReader
from cordwood.compaction.passes.mark_windows import MarkWindow, SurveyedSegment


class MarkPhase:
    """The key maps of one pass, and their totals so far."""

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
        """The number of records without a key, dirty and clean."""
        return self._unkeyed_clean + self._unkeyed_dirty

    def set_marks(self, window: MarkWindow, log: Iterable[Sequence[SurveyedSegment]]) -> Marks:
        """Return the marks of a window; `log` is all groups of the plan."""
        first_dirty = self._job.plan.first_dirty
        marks = Marks(window.marks)
        memory_bytes = self._key_map_bytes(marks, window)
        key_map = self._engine.key_map(
            marks, memory_bytes, erased=self._job.plan.erased_keys, seed=self._job.seed
        )
        dirty = [each for group in log for each in group if each.source.end_offset > first_dirty]
        clean = [
            each
            for group in window.groups
            for each in group
            if each.source.base_offset < first_dirty
        ]
        begin = 0
        while begin < HASHES:
            key_map.begin_range(begin)
            with self._reader.chunks(dirty) as chunks:
                for chunk in chunks:
                    key_map.learn(window.renumber(chunk), first_offset=first_dirty)
            if begin == 0:
                self._unkeyed_dirty = key_map.unkeyed
            with self._reader.chunks(clean) as chunks:
                for chunk in chunks:
                    key_map.look_up(window.renumber(chunk), end_offset=first_dirty)
            end = key_map.finish_range()
            if begin == 0:
                # Later ranges are about as wide as the first, and each reads as much again.
                size = sum(each.survey.size for each in (*dirty, *clean))
                self._control.expect(size * (HASHES - end) // end)
            begin = end
            self.ranges += 1
        self.keys = key_map.keys
        self._unkeyed_clean += key_map.unkeyed - self._unkeyed_dirty
        return marks

    def _key_map_bytes(self, marks: Marks, window: MarkWindow) -> int:
        """Return the memory that marks leave to the key map: at least half of the job's."""
        memory = self._job.memory_bytes
        if 2 * marks.size > memory:
            raise CleaningFailedError(
                f"{self._job.directory}: one group of segments has too many records for the "
                f"memory of a pass ({window.records} records, {memory} bytes); raise "
                "log.cleaner.dedupe.buffer.size"
            )
        return memory - marks.size
