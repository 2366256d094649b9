"""One partition's log, put together: every rule lives in a module of its own, here they meet.

    appending   reading   truncating   replacing   rolling   flushing   retention   loading

A log has one owner, who calls it from one thread; nothing here waits for a disk but `flush` and
`close`. What blocks longer is handed out as a value (`begin_flush`) and its end is told
(`finish_flush`). After an OSError the log is not to be used any more: its directory is at its end,
and opening it again puts right what was left half done.
"""

from collections.abc import Sequence
from typing import Self

from cordwood.core.binary import Buffer
from cordwood.core.errors import OffsetOutOfRangeError
from cordwood.core.ports import Clock
from cordwood.core.types import TopicPartition
from cordwood.records.inspect import Inspector
from cordwood.storage import appending, flushing, loading, reading, replacing, rolling, truncating
from cordwood.storage.appending import AppendResult, Sender
from cordwood.storage.atomic import directory_of
from cordwood.storage.bounds import OffsetBounds
from cordwood.storage.deletions import Deletions
from cordwood.storage.epochs import LeaderEpochs
from cordwood.storage.file_table import FileTable
from cordwood.storage.flushing import FlushJob
from cordwood.storage.lease import FREE, Lease
from cordwood.storage.log_config import LogConfig
from cordwood.storage.log_state import LogState
from cordwood.storage.producers import ProducerStates
from cordwood.storage.reading import Isolation, LogRead
from cordwood.storage.replacing import Replacement, Swap
from cordwood.storage.retention import RetentionPlan, SegmentFacts, plan_retention
from cordwood.storage.segment import Segment
from cordwood.storage.segment_reads import TimestampAndOffset
from cordwood.storage.tail_recovery import RecoveryReport


class Log:
    """A log that is written to. `lease` says who may work on it beside its owner."""

    __slots__ = ("_clock", "_state", "_swap", "lease", "report")

    def __init__(self, state: LogState, clock: Clock, report: RecoveryReport) -> None:
        self._state = state
        self._clock = clock
        self.report = report
        self.lease: Lease = FREE
        self._swap: Swap | None = None

    @classmethod
    def open(cls, place: loading.LogPlace, tools: loading.LogTools, *, clock: Clock) -> Self:
        """Open the log in a directory, made if there is none, recovered if it was not closed."""
        state, report = loading.load(place, tools, now_ms=clock.now_ms())
        return cls(state, clock, report)

    def __repr__(self) -> str:
        return f"Log({self._state.partition}, {self._state.bounds!r})"

    # -- what is known of it

    @property
    def partition(self) -> TopicPartition:
        return self._state.partition

    @property
    def directory(self) -> str:
        return self._state.directory

    @property
    def config(self) -> LogConfig:
        return self._state.config

    @property
    def bounds(self) -> OffsetBounds:
        """The offsets that bound it; to be looked at, not moved."""
        return self._state.bounds

    @property
    def producers(self) -> ProducerStates:
        return self._state.producers

    @property
    def epochs(self) -> LeaderEpochs:
        return self._state.epochs.known

    @property
    def is_torn(self) -> bool:
        """Whether a change has failed of which a part was done."""
        return self._state.is_torn

    @property
    def base_offsets(self) -> tuple[int, ...]:
        """Where its segments begin."""
        return self._state.segments.base_offsets

    @property
    def size(self) -> int:
        """The bytes of its records."""
        return self._state.segments.size

    @property
    def each_segment(self) -> tuple[Segment, ...]:
        """Its segments, oldest first; to be looked at, not to be changed."""
        return tuple(self._state.segments)

    @property
    def segments(self) -> tuple[SegmentFacts, ...]:
        """What retention and operators look at, oldest first."""
        segments, log_end = self._state.segments, self._state.bounds.log_end
        return tuple(
            SegmentFacts(
                segment.base_offset,
                segments.end_of(segment, log_end),
                segment.size,
                segment.largest_timestamp(),
            )
            for segment in segments
        )

    # -- writing

    def append_as_leader(
        self,
        data: Buffer,
        *,
        leader_epoch: int,
        inspector: Inspector,
        sender: Sender = Sender(),  # noqa: B008 - a value that cannot change
    ) -> AppendResult:
        """Check, number and write a record set; `data` is writable and written to."""
        return appending.append_as_leader(
            self._state,
            data,
            leader_epoch=leader_epoch,
            now_ms=self._clock.now_ms(),
            inspector=inspector,
            sender=sender,
        )

    def append_as_follower(self, data: Buffer, *, leader_epoch: int) -> AppendResult:
        """Write a record set that a leader has numbered."""
        now_ms = self._clock.now_ms()
        return appending.append_as_follower(
            self._state, data, leader_epoch=leader_epoch, now_ms=now_ms
        )

    def roll(self) -> None:
        """Begin a new segment, whatever the rule says."""
        rolling.roll(self._state, now_ms=self._clock.now_ms())

    def set_high_watermark(self, high_watermark: int) -> bool:
        """Let readers see up to here, as far as the log goes; say whether that changed."""
        state = self._state
        has_moved = state.bounds.replicated(high_watermark)
        state.producers.on_high_watermark(state.bounds.high_watermark)
        state.settle_unstable()
        return has_moved

    def configure(self, config: LogConfig) -> None:
        """Live by other settings from now on; segments keep the size of their index files."""
        self._state.config = config

    def expire_producers(self) -> int:
        """Forget producers that have been idle for long; return how many."""
        return self._state.producers.expire(self._clock.now_ms())

    # -- reading

    def read(
        self, offset: int, *, max_bytes: int, isolation: Isolation, min_one: bool = False
    ) -> LogRead:
        """Return what begins at `offset`; see `reading`."""
        return reading.read(
            self._state, offset, max_bytes=max_bytes, isolation=isolation, min_one=min_one
        )

    def offset_for_timestamp(
        self, timestamp: int, isolation: Isolation = Isolation.HIGH_WATERMARK
    ) -> TimestampAndOffset | None:
        """Return the first record that is not earlier, or what a special timestamp stands for."""
        return reading.offset_for_timestamp(self._state, timestamp, isolation=isolation)

    # -- less of it

    def truncate_to(self, offset: int) -> bool:
        """Drop the records from `offset` on; say whether there were any."""
        self.settle()
        return truncating.truncate_to(self._state, offset, now_ms=self._clock.now_ms())

    def truncate_fully(self, offset: int, *, log_start: int | None = None) -> None:
        """Drop all records and go on at `offset`."""
        self.settle()
        now_ms = self._clock.now_ms()
        truncating.truncate_fully(self._state, offset, now_ms=now_ms, log_start=log_start)

    def delete_records(self, offset: int) -> int:
        """Let the log start at `offset`, -1 for the high watermark; return where it starts now."""
        high_watermark = self._state.bounds.high_watermark
        wanted = high_watermark if offset == -1 else offset
        if not 0 <= wanted <= high_watermark:
            raise OffsetOutOfRangeError(
                f"records of {self.partition} cannot be deleted up to {offset}: its high "
                f"watermark is {high_watermark}"
            )
        truncating.raise_start(self._state, wanted)
        return self._state.bounds.log_start

    def plan_retention(self) -> RetentionPlan:
        """Say which segments go now, and what holds the others back."""
        bounds = self._state.bounds
        return plan_retention(
            self.segments,
            log_start_offset=bounds.log_start,
            high_watermark=bounds.high_watermark,
            config=self._state.config,
            now_ms=self._clock.now_ms(),
        )

    def delete_old_segments(self) -> RetentionPlan:
        """Remove what retention lets go; return what was decided."""
        plan = self.plan_retention()
        if plan.is_rolling:
            self.roll()
        gone = {deletion.segment.base_offset for deletion in plan.deletions}
        doomed = [each for each in self._state.segments if each.base_offset in gone]
        if doomed:
            truncating.delete_segments(self._state, doomed, log_start=plan.log_start_offset)
        return plan

    # -- segments in the place of others

    def begin_replacing(self, replacement: Replacement) -> Swap:
        """Return what puts .cleaned segments in, for its owner to drive; one runs at a time.

        SwapRefusedError if the log is not any more what it was when they were written.
        """
        self.settle()
        self._swap = replacing.begin(self._state, replacement, now_ms=self._clock.now_ms())
        return self._swap

    def settle(self) -> None:
        """Bring a replacement that is under way to its end: the log is going to change otherwise.

        It is a few renames and syncs, and waited for.
        """
        if self._swap is not None:
            self._swap.finish()
            self._swap = None

    # -- durability

    def begin_flush(self) -> FlushJob | None:
        """Return what has to be synced, to be run anywhere; None if everything is durable."""
        return flushing.begin_flush(self._state)

    def finish_flush(self, job: FlushJob) -> None:
        """A job has run: raise the recovery point."""
        flushing.finish_flush(self._state, job, now_ms=self._clock.now_ms())

    def failed_flush(self, job: FlushJob) -> None:
        """A job has come to nothing."""
        flushing.failed_flush(self._state, job)

    def is_flush_due(self) -> bool:
        """Whether `flush.ms` has passed since the last flush, and something is not durable."""
        bounds = self._state.bounds
        waited_ms = self._clock.now_ms() - self._state.last_flush_ms
        return bounds.recovery_point < bounds.log_end and waited_ms >= self._state.config.flush_ms

    def flush(self) -> None:
        """Make everything durable, here and now."""
        job = self.begin_flush()
        if job is not None:
            job.run(self._state.table.files)
            self.finish_flush(job)

    def close(self) -> None:
        """Leave the directory as a clean stop leaves it, durable; the log is not used again."""
        self.settle()
        state = self._state
        state.segments.active.ensure_index_files()
        for segment in state.segments:
            segment.close()
        snapshot = state.snapshots.take(state.producers, sync=False)
        job = flushing.final_flush(state, snapshot)
        job.run(state.table.files)
        self.finish_flush(job)

    # -- its directory

    def move(self, directory: str) -> None:
        """Rename the directory, in the one that it is in and durably, and go on there.

        When that is refused nothing has changed, unless the log is torn by it: then nobody knows
        which name a crash would leave.
        """
        self.settle()
        state, former = self._state, self._state.directory
        state.table.forget_under(former)
        state.table.files.rename(former, directory)
        with state.as_a_whole():
            unsynced = (f"{directory}{path.removeprefix(former)}" for path in state.unsynced_paths)
            state.unsynced_paths = tuple(unsynced)
            state.directory = state.epochs.directory = state.snapshots.directory = directory
            for segment in state.segments:
                segment.moved(directory)
            state.table.files.sync_directory(directory_of(directory))

    def use(self, table: FileTable, deletions: Deletions | None = None) -> None:
        """Open files through another table from now on; those open in the old one are closed.

        Files that are to go are given to other `deletions` too, if there are any.
        """
        state = self._state
        state.deletions = deletions or state.deletions
        state.table.forget_under(state.directory)
        state.table = table
        for segment in state.segments:
            segment.files.use(table)

    def forget_files(self) -> None:
        """Close what is open: the log is not used any more."""
        self._state.table.forget_under(self._state.directory)

    def paths(self) -> Sequence[str]:
        """Return the files of all segments, for those who count them."""
        return [path for segment in self._state.segments for path in segment.paths()]
