"""The log of one partition (Kafka: `UnifiedLog`).

    log_append   log_read   timestamp_lookup   truncation   segment_swap   segment_roll
    log_flush    retention  segment_deletion   log_relocation   log_loader

The rules are in these modules; `Log` combines them and supplies the time. A log has one owner,
which calls it from one thread. Only `flush`, `close`, `move` and `truncate_…` wait for the disk;
`begin_flush` returns the blocking work as a job for a worker, and `finish_flush` takes its result.
Likewise `begin_append` returns the work on records, and `finish_append` takes the result. A roll, a
swap, a truncation and a deletion of segments have several jobs, as a `SteppedChange`.

After an OSError the log must not be used any more and its log directory must go offline; opening
the log again repairs changes that were half done.
"""

from typing import TYPE_CHECKING, Self

from cordwood.core.binary import Buffer
from cordwood.core.ports import Clock, Files, Ports
from cordwood.core.types import TopicPartition
from cordwood.records.record_checks import Inspector
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.checkpoints.leader_epoch_cache import LeaderEpochCache
from cordwood.storage.checkpoints.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile
from cordwood.storage.files.delayed_deletions import DelayedDeletions
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log import (
    append_files,
    follower_records,
    log_append,
    log_flush,
    log_loader,
    log_read,
    log_relocation,
    segment_deletion,
    segment_roll,
    segment_swap,
    timestamp_lookup,
    truncation,
)
from cordwood.storage.log.append_job import AppendJob, PreparedRecords
from cordwood.storage.log.follower_records import FollowerRecords
from cordwood.storage.log.log_append import AppendContext, AppendResult
from cordwood.storage.log.log_flush import FlushJob
from cordwood.storage.log.log_loader import LogPlace, RecoveryOptions
from cordwood.storage.log.log_read import FetchIsolation, LogPosition, LogRead
from cordwood.storage.log.log_state import LogState
from cordwood.storage.log.maintenance_lease import FREE, MaintenanceLease
from cordwood.storage.log.offset_bounds import OffsetBounds
from cordwood.storage.log.retention import RetentionPlan, SegmentFacts
from cordwood.storage.log.segment_deletion import SegmentTimestamps
from cordwood.storage.log.segment_swap import SegmentReplacement
from cordwood.storage.log.stepped_change import RunningChanges, SteppedChange
from cordwood.storage.log.tail_recovery import RecoveryReport
from cordwood.storage.log.timestamp_lookup import TimestampLookup
from cordwood.storage.log_config import LogConfig
from cordwood.storage.producers.producer_state_manager import ProducerStateManager
from cordwood.storage.producers.snapshot_files import SnapshotFiles
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.segment_view import TimestampAndOffset

if TYPE_CHECKING:
    from cordwood.core.uuids import Uuid


class Log:  # tidy: allow[class-lines] a method for each call of the owner; modules have the rules
    """A log that is open for writing. `lease` controls maintenance: retention and cleaning.

    `topic_id` is that of `partition.metadata`, None until the file was read or written.
    """

    __slots__ = ("_clock", "_state", "changes", "lease", "report", "topic_id")

    def __init__(self, state: LogState, clock: Clock, report: RecoveryReport) -> None:
        self._state = state
        self._clock = clock
        self.report = report
        self.lease: MaintenanceLease = FREE
        self.changes = RunningChanges()
        self.topic_id: Uuid | None = None

    @classmethod
    def open(
        cls,
        place: LogPlace,
        ports: Ports,
        *,
        table: OpenFileCache,
        deletions: DelayedDeletions,
        recovery: RecoveryOptions = RecoveryOptions(),  # noqa: B008 - a value that cannot change
    ) -> Self:
        """Open the log in a directory: create it if necessary, recover it if it was not closed."""
        state, report = log_loader.load(
            place, ports, table=table, deletions=deletions, recovery=recovery
        )
        return cls(state, ports.clock, report)

    def __repr__(self) -> str:
        return f"Log({self._state.partition}, {self._state.bounds!r})"

    # -- state

    @property
    def partition(self) -> TopicPartition:
        return self._state.partition

    @property
    def directory(self) -> str:
        return self._state.directory

    @property
    def files(self) -> Files:
        return self._state.table.files

    @property
    def config(self) -> LogConfig:
        return self._state.config

    @property
    def bounds(self) -> OffsetBounds:
        """The offsets that bound the log; callers must not move them."""
        return self._state.bounds

    @property
    def producers(self) -> ProducerStateManager:
        return self._state.producers

    @property
    def epochs(self) -> LeaderEpochCache:
        return self._state.epochs.current

    @property
    def epoch_file(self) -> LeaderEpochCheckpointFile:
        """The file of the leader epochs, which is saved behind its changes."""
        return self._state.epochs

    @property
    def snapshot_files(self) -> SnapshotFiles:
        """The producer snapshots; those taken at a roll are saved behind it."""
        return self._state.snapshots

    @property
    def is_torn(self) -> bool:
        """Whether a change has failed half way."""
        return self._state.is_torn

    @property
    def base_offsets(self) -> tuple[int, ...]:
        """The base offsets of the segments."""
        return self._state.segments.base_offsets

    @property
    def active_base(self) -> int:
        """The base offset of the active segment."""
        return self._state.segments.active.base_offset

    @property
    def size(self) -> int:
        """The size of the records in bytes."""
        return self._state.segments.size

    @property
    def segments(self) -> tuple[LogSegment, ...]:
        """The segments, oldest first; callers must not change them."""
        return tuple(self._state.segments)

    def segment_facts(self) -> tuple[SegmentFacts, ...]:
        """Return the facts about each segment on which retention decides, oldest first."""
        return segment_deletion.facts_of(self._state)

    # -- writing

    def begin_append(
        self, data: Buffer, *, inspector: Inspector, origin: AppendOrigin = AppendOrigin.CLIENT
    ) -> AppendJob:
        """Return the job that prepares a record set for this log, as its leader; for any thread.

        The job has the present config and time. It changes `data` in place, which must be writable.
        """
        now_ms = self._clock.now_ms()
        return log_append.begin_append(
            self._state, data, origin=origin, now_ms=now_ms, inspector=inspector
        )

    def begin_append_files(
        self, prepared: PreparedRecords | FollowerRecords
    ) -> SteppedChange | None:
        """Return the change of files that must end before this append, None if it needs none.

        The caller drives it, and lets later appends wait for it.
        """
        self.changes.finish_before_append()
        state, now_ms = self._state, self._clock.now_ms()
        if isinstance(prepared, FollowerRecords):
            change = append_files.begin_as_follower(state, prepared, now_ms=now_ms)
        else:
            change = append_files.begin(state, prepared, now_ms=now_ms)
        self.changes.files = change
        return change

    def finish_append(
        self,
        prepared: PreparedRecords,
        *,
        leader_epoch: int,
        context: AppendContext = AppendContext(),  # noqa: B008 - a value that cannot change
        has_files: bool = False,
    ) -> AppendResult:
        """Assign the next offsets to the result of a job, and append it.

        The job's origin replaces that of the context. `has_files` states that `begin_append_files`
        has just returned None; otherwise the files are changed here, blocking.
        """
        self.changes.finish_before_append()
        return log_append.finish_append(
            self._state,
            prepared,
            leader_epoch=leader_epoch,
            now_ms=self._clock.now_ms(),
            context=context,
            has_files=has_files,
        )

    def append_as_leader(
        self,
        data: Buffer,
        *,
        leader_epoch: int,
        inspector: Inspector,
        context: AppendContext = AppendContext(),  # noqa: B008 - a value that cannot change
    ) -> AppendResult:
        """Validate a record set, assign its offsets and append it; `data` is changed in place."""
        job = self.begin_append(data, inspector=inspector, origin=context.origin)
        return self.finish_append(job.run(), leader_epoch=leader_epoch, context=context)

    def begin_follower_append(self, data: Buffer, *, leader_epoch: int) -> FollowerRecords:
        """Return the batches of a leader that can be appended with the offsets that they have."""
        return follower_records.check(self._state, data, leader_epoch=leader_epoch)

    def finish_follower_append(
        self, records: FollowerRecords, *, has_files: bool = False
    ) -> AppendResult:
        """Append batches of a leader; `has_files` has the meaning of `finish_append`."""
        self.changes.finish_before_append()
        return log_append.append_as_follower(
            self._state, records, now_ms=self._clock.now_ms(), has_files=has_files
        )

    def append_as_follower(self, data: Buffer, *, leader_epoch: int) -> AppendResult:
        """Append a record set with the offsets that the leader has assigned; may block."""
        return self.finish_follower_append(
            self.begin_follower_append(data, leader_epoch=leader_epoch)
        )

    def roll(self) -> None:
        """Roll a new segment regardless of the roll limits; blocks."""
        self.changes.finish_before_append()
        segment_roll.roll(self._state, now_ms=self._clock.now_ms())

    def begin_roll(self) -> SteppedChange | None:
        """Return the roll of a new segment, which the caller drives.

        None if the active segment is empty.
        """
        self.changes.finish_before_append()
        self.changes.files = change = segment_roll.begin(self._state, now_ms=self._clock.now_ms())
        return change

    def set_high_watermark(self, high_watermark: int) -> bool:
        """Set the high watermark, at most to the log end; return whether it moved."""
        state = self._state
        has_moved = state.bounds.update_high_watermark(high_watermark)
        state.producers.on_high_watermark(state.bounds.high_watermark)
        state.update_first_unstable()
        return has_moved

    def configure(self, config: LogConfig) -> None:
        """Apply another config; existing segments keep the size of their index files."""
        self._state.config = config

    def expire_producers(self) -> int:
        """Remove the state of producers that have been idle for too long; return how many."""
        return self._state.producers.expire(self._clock.now_ms())

    # -- reading

    def read(
        self, offset: int, *, max_bytes: int, isolation: FetchIsolation, min_one: bool = False
    ) -> LogRead:
        """Read from `offset` on; see `log_read.read`."""
        return log_read.read(
            self._state, offset, max_bytes=max_bytes, isolation=isolation, min_one=min_one
        )

    def readable_position(self, isolation: FetchIsolation) -> LogPosition:
        """Return the place in the files up to which a reader may read."""
        return log_read.readable_position(self._state, isolation)

    def offset_for_timestamp(
        self, timestamp: int, isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK
    ) -> TimestampAndOffset | None:
        """Return the first record at or after a timestamp; see `timestamp_lookup.find`."""
        return timestamp_lookup.find(self._state, timestamp, isolation=isolation)

    def begin_lookup(self, timestamp: int) -> TimestampLookup:
        """Return the lookup of a timestamp as a job for any thread."""
        return TimestampLookup(self._state, timestamp)

    # -- truncation and retention

    def begin_truncation(self, offset: int) -> SteppedChange | None:
        """Truncate the log to end at `offset`; return the rest, which the caller drives.

        None if no records are removed. Until the rest is done, an append waits for it, blocking.
        """
        self.changes.finish_all()
        self.changes.truncation = truncation.begin(self._state, offset, now_ms=self._clock.now_ms())
        return self.changes.truncation

    def begin_full_truncation(self, offset: int, *, log_start: int | None = None) -> SteppedChange:
        """Remove all records and continue at `offset`; return the rest, as `begin_truncation`."""
        self.changes.finish_all()
        self.changes.truncation = change = truncation.begin_fully(
            self._state, offset, now_ms=self._clock.now_ms(), log_start=log_start
        )
        return change

    def truncate_to(self, offset: int) -> bool:
        """Truncate the log durably before returning; return whether records were removed."""
        change = self.begin_truncation(offset)
        self.changes.finish_all()
        return change is not None

    def truncate_fully(self, offset: int, *, log_start: int | None = None) -> None:
        """Remove all records durably before returning, and continue at `offset`."""
        self.begin_full_truncation(offset, log_start=log_start).finish()

    def delete_records(self, offset: int) -> int:
        """Raise the log start to `offset`, -1 for the high watermark; return the log start."""
        return truncation.delete_records(self._state, offset)

    def plan_retention(
        self, timestamps: SegmentTimestamps | None = None, *, explains: bool = True
    ) -> RetentionPlan:
        """Return the segments that retention deletes now, and the reasons that keep the others.

        Without `timestamps`, which a job of `begin_retention` has read, those are read here. The
        reasons are left out unless the plan `explains`.
        """
        return segment_deletion.plan(
            self._state, now_ms=self._clock.now_ms(), timestamps=timestamps, explains=explains
        )

    def begin_retention(self) -> SegmentTimestamps:
        """Return the timestamps on which retention decides; its job reads them, on any thread."""
        return SegmentTimestamps(self._state, now_ms=self._clock.now_ms())

    def begin_deletion(self, plan: RetentionPlan) -> SteppedChange:
        """Delete the segments that retention releases; return the rest, which the caller drives.

        The plan, or the portion of a plan, does not roll, and the lease was taken all the time.
        """
        self.changes.finish_deletion()
        self.changes.finish_truncation()
        self.changes.deletion = change = segment_deletion.begin(self._state, plan)
        return change

    def delete_old_segments(self) -> RetentionPlan:
        """Delete the segments that retention releases; return its plan. Blocks."""
        self.changes.finish_before_append()
        plan = self.plan_retention()
        if plan.is_rolling:
            self.roll()
        self.begin_deletion(plan).finish()
        return plan

    # -- replacement of segments

    def begin_swap(self, replacement: SegmentReplacement) -> SteppedChange:
        """Return the swap that puts .cleaned segments in; the caller drives it.

        A running swap is finished first. SwapRefusedError if the log has changed since the .cleaned
        segments were written.
        """
        self.changes.finish_before_swap()
        self.changes.swap = swap = segment_swap.begin(
            self._state, replacement, now_ms=self._clock.now_ms()
        )
        return swap

    # -- durability

    def begin_flush(self) -> FlushJob | None:
        """Return the job that makes the log durable, for any thread; None if it is durable.

        Requires: all leader epochs and producer snapshots are saved.
        """
        return log_flush.begin_flush(self._state)

    def finish_flush(self, job: FlushJob) -> None:
        """Advance the recovery point after a successful job."""
        log_flush.finish_flush(self._state, job, now_ms=self._clock.now_ms())

    def abort_flush(self, job: FlushJob) -> None:
        """Count the files of a failed job as unsynced again."""
        log_flush.abort_flush(self._state, job)

    def is_flush_due(self) -> bool:
        """Return whether `flush.ms` has passed since the last flush, and records are unflushed."""
        bounds = self._state.bounds
        waited_ms = self._clock.now_ms() - self._state.last_flush_ms
        return bounds.unflushed > 0 and waited_ms >= self._state.config.flush_ms

    def flush(self) -> None:
        """Make the log durable before returning."""
        log_flush.flush(self._state, now_ms=self._clock.now_ms())

    def close(self) -> None:
        """Close the log cleanly and durably; it must not be used afterwards."""
        self.changes.finish_all()
        log_flush.close(self._state, now_ms=self._clock.now_ms())

    # -- its directory

    def move(self, directory: str) -> None:
        """Rename the directory durably within its log directory; see `log_relocation.move`."""
        self.changes.finish_before_move()
        log_relocation.move(self._state, directory)

    def begin_move(self, directory: str) -> None:
        """Rename the directory of a log in deletion; the caller syncs. No job may be running."""
        log_relocation.rename(self._state, directory)

    def use(self, table: OpenFileCache, deletions: DelayedDeletions | None = None) -> None:
        """Open files through another cache from now on; files open in the old one are closed.

        With `deletions`, deleted files are passed to these from now on.
        """
        log_relocation.use(self._state, table, deletions=deletions)

    def forget_files(self) -> None:
        """Close the open files of a log that is not used any more."""
        self._state.table.forget_under(self._state.directory)
