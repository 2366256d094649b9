"""The log of one partition (Kafka: `UnifiedLog`).

    log_append   log_read   timestamp_lookup   truncation   segment_swap   segment_roll
    log_flush    retention  log_loader

The rules are in these modules; `Log` combines them and supplies the time. A log has one owner,
which calls it from one thread. Only `flush`, `close`, `move` and truncations wait for the disk;
`begin_flush` returns the blocking work as a job for a worker, and `finish_flush` takes its result.

After an OSError the log must not be used any more and its log directory must go offline; opening
the log again repairs changes that were half done.
"""

from collections.abc import Iterator
from typing import Self

from cordwood.core.binary import Buffer
from cordwood.core.ports import Clock, Ports
from cordwood.core.types import TopicPartition
from cordwood.records.record_checks import Inspector
from cordwood.storage.checkpoints.leader_epoch_cache import LeaderEpochCache
from cordwood.storage.checkpoints.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.files.delayed_deletions import DelayedDeletions
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log import (
    log_append,
    log_flush,
    log_loader,
    log_read,
    segment_roll,
    segment_swap,
    timestamp_lookup,
    truncation,
)
from cordwood.storage.log.log_append import AppendContext, AppendResult
from cordwood.storage.log.log_flush import FlushJob
from cordwood.storage.log.log_loader import LogPlace, RecoveryOptions
from cordwood.storage.log.log_read import FetchIsolation, LogRead
from cordwood.storage.log.log_state import LogState
from cordwood.storage.log.maintenance_lease import FREE, MaintenanceLease
from cordwood.storage.log.offset_bounds import OffsetBounds
from cordwood.storage.log.retention import RetentionPlan, SegmentFacts, plan_retention
from cordwood.storage.log.segment_swap import SegmentReplacement, SegmentSwap
from cordwood.storage.log.tail_recovery import RecoveryReport
from cordwood.storage.log.timestamp_lookup import TimestampLookup
from cordwood.storage.log_config import LogConfig
from cordwood.storage.producers.producer_state_manager import ProducerStateManager
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.log_segments import LogSegments
from cordwood.storage.segment.segment_view import TimestampAndOffset


class Log:
    """A log that is open for writing. `lease` controls maintenance: retention and cleaning."""

    __slots__ = ("_clock", "_state", "_swap", "lease", "report")

    def __init__(self, state: LogState, clock: Clock, report: RecoveryReport) -> None:
        self._state = state
        self._clock = clock
        self.report = report
        self.lease: MaintenanceLease = FREE
        self._swap: SegmentSwap | None = None

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
    def is_torn(self) -> bool:
        """Whether a change has failed half way."""
        return self._state.is_torn

    @property
    def base_offsets(self) -> tuple[int, ...]:
        """The base offsets of the segments."""
        return self._state.segments.base_offsets

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
        return tuple(_facts_of(self._state.segments, self._state.bounds.log_end))

    # -- writing

    def append_as_leader(
        self,
        data: Buffer,
        *,
        leader_epoch: int,
        inspector: Inspector,
        context: AppendContext = AppendContext(),  # noqa: B008 - a value that cannot change
    ) -> AppendResult:
        """Validate a record set, assign its offsets and append it; `data` is changed in place."""
        return log_append.append_as_leader(
            self._state,
            data,
            leader_epoch=leader_epoch,
            now_ms=self._clock.now_ms(),
            inspector=inspector,
            context=context,
        )

    def append_as_follower(self, data: Buffer, *, leader_epoch: int) -> AppendResult:
        """Append a record set with the offsets that the leader has assigned."""
        now_ms = self._clock.now_ms()
        return log_append.append_as_follower(
            self._state, data, leader_epoch=leader_epoch, now_ms=now_ms
        )

    def roll(self) -> None:
        """Roll a new segment regardless of the roll limits."""
        segment_roll.roll(self._state, now_ms=self._clock.now_ms())

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

    def offset_for_timestamp(
        self, timestamp: int, isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK
    ) -> TimestampAndOffset | None:
        """Return the first record at or after a timestamp; see `timestamp_lookup.find`."""
        return timestamp_lookup.find(self._state, timestamp, isolation=isolation)

    def begin_lookup(self, timestamp: int) -> TimestampLookup:
        """Return the lookup of a timestamp as a job for any thread."""
        return TimestampLookup(self._state, timestamp)

    # -- truncation and retention

    def truncate_to(self, offset: int) -> bool:
        """Truncate the log to end at `offset`; return whether records were removed."""
        self.finish_swap()
        return truncation.truncate_to(self._state, offset, now_ms=self._clock.now_ms())

    def truncate_fully(self, offset: int, *, log_start: int | None = None) -> None:
        """Remove all records and continue at `offset`."""
        self.finish_swap()
        now_ms = self._clock.now_ms()
        truncation.truncate_fully(self._state, offset, now_ms=now_ms, log_start=log_start)

    def delete_records(self, offset: int) -> int:
        """Raise the log start to `offset`, -1 for the high watermark; return the log start."""
        return truncation.delete_records(self._state, offset)

    def plan_retention(self) -> RetentionPlan:
        """Return the segments that retention deletes now, and the reasons that keep the others."""
        bounds = self._state.bounds
        return plan_retention(
            self.segment_facts(),
            log_start_offset=bounds.log_start,
            high_watermark=bounds.high_watermark,
            config=self._state.config,
            now_ms=self._clock.now_ms(),
        )

    def delete_old_segments(self) -> RetentionPlan:
        """Delete the segments that retention releases; return its plan."""
        plan = self.plan_retention()
        if plan.is_rolling:
            self.roll()
        gone = {deletion.segment.base_offset for deletion in plan.deletions}
        doomed = [each for each in self._state.segments if each.base_offset in gone]
        if doomed:
            truncation.delete_segments(self._state, doomed, log_start=plan.log_start_offset)
        return plan

    # -- replacement of segments

    def begin_swap(self, replacement: SegmentReplacement) -> SegmentSwap:
        """Return the swap that puts .cleaned segments in; the caller drives it.

        A running swap is finished first. SwapRefusedError if the log has changed since the .cleaned
        segments were written.
        """
        self.finish_swap()
        self._swap = segment_swap.begin(self._state, replacement, now_ms=self._clock.now_ms())
        return self._swap

    def finish_swap(self) -> None:
        """Finish a running swap, before any other change of the segments.

        Blocks for a few renames and fsyncs.
        """
        if self._swap is not None:
            self._swap.finish()
            self._swap = None

    # -- durability

    def begin_flush(self) -> FlushJob | None:
        """Return the job that makes the log durable, for any thread; None if it is durable.

        Requires: all leader epochs are saved.
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
        return bounds.recovery_point < bounds.log_end and waited_ms >= self._state.config.flush_ms

    def flush(self) -> None:
        """Make the log durable before returning."""
        self._state.epochs.save()
        job = self.begin_flush()
        if job is not None:
            job.run(self._state.table.files)
            self.finish_flush(job)

    def close(self) -> None:
        """Close the log cleanly and durably; it must not be used afterwards."""
        self.finish_swap()
        state = self._state
        state.segments.active.ensure_index_files()
        for segment in state.segments:
            segment.close()
        self._state.epochs.save()
        snapshot = state.snapshots.take(state.producers, sync=False)
        job = log_flush.final_flush(state, snapshot)
        job.run(state.table.files)
        self.finish_flush(job)

    # -- its directory

    def move(self, directory: str) -> None:
        """Rename the directory durably within its log directory, and continue in it.

        If this fails, nothing has changed, unless the log is torn: then it is unknown which of the
        two names is durable.
        """
        self.finish_swap()
        state, former = self._state, self._state.directory
        state.table.forget_under(former)
        state.table.files.rename(former, directory)
        with state.torn_on_error():
            unsynced = (f"{directory}{path.removeprefix(former)}" for path in state.unsynced_paths)
            state.unsynced_paths = tuple(unsynced)
            state.directory = state.epochs.directory = state.snapshots.directory = directory
            for segment in state.segments:
                segment.set_directory(directory)
            state.table.files.sync_directory(directory_of(directory))

    def use(self, table: OpenFileCache, deletions: DelayedDeletions | None = None) -> None:
        """Open files through another cache from now on; files open in the old one are closed.

        With `deletions`, deleted files are passed to these from now on.
        """
        state = self._state
        state.deletions = deletions or state.deletions
        state.table.forget_under(state.directory)
        state.table = table
        for segment in state.segments:
            segment.files.use_cache(table)

    def forget_files(self) -> None:
        """Close the open files of a log that is not used any more."""
        self._state.table.forget_under(self._state.directory)


def _facts_of(segments: LogSegments, log_end: int) -> Iterator[SegmentFacts]:
    for segment in segments:
        yield SegmentFacts(
            segment.base_offset,
            segments.end_of(segment, log_end),
            segment.size,
            segment.largest_timestamp(),
        )
