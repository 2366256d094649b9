"""A log that follows another broker, in one leader epoch: the leader's records and truncations.

Kafka: `Partition.appendRecordsToFollowerOrFutureReplica`, `ReplicaFetcherThread`.

    begin       removes the records behind a gap that recovery has found
    append      the leader's records, then its bounds
    truncate    to the offset where this log diverges from the leader's
    start_at    without any record, since the leader has deleted the offsets up to there
    use         the log has moved to another directory, which no change has done meanwhile
    close       the epoch has ended: changes that wait for the disk go no further

A roll, a flush that `flush.messages` asks for, the file of a new leader epoch, and the rest of a
truncation are done on the worker; the result of the change is done after them. A change waits for
those before it, also for one of an earlier epoch.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final, TypeAlias

from cordwood.broker.partitions.partition_leader import PartitionResources
from cordwood.broker.partitions.partition_role import Follower
from cordwood.cluster.fetchers.local_replicas import LeaderBounds
from cordwood.cluster.partition.truncation import FollowerLog, bounds_after_fetch
from cordwood.core.errors import NotLeaderOrFollowerError
from cordwood.core.ports import Pending
from cordwood.storage.log.follower_records import (
    FollowerRecords,
    UnexpectedOffsetError,
    first_piece,
)
from cordwood.storage.log.log import Log
from cordwood.storage.manager.log_changes import prepare_append
from cordwood.storage.manager.log_truncation import truncate, truncate_fully
from cordwood.storage.manager.step_driver import drive

_Steps: TypeAlias = Iterator[Pending[None]]


class PartitionFollower:
    """The following of one partition; `on_change` is called when a bound of the log has moved.

    `on_truncation` is called when records have been removed.
    """

    __slots__ = (
        "_flushed_to",
        "_has_ended",
        "_on_change",
        "_on_truncation",
        "_resources",
        "_use",
        "log",
        "role",
    )

    def __init__(
        self,
        role: Follower,
        log: Log,
        resources: PartitionResources,
        *,
        on_change: Callable[[], object],
        on_truncation: Callable[[], object],
    ) -> None:
        self.role: Final = role
        self.log = log
        self._resources = resources
        self._use = resources.manager.using(log)
        self._on_change = on_change
        self._on_truncation = on_truncation
        #: The base offset up to which the segments are flushed, or will be.
        self._flushed_to = log.active_base
        self._has_ended = False

    @property
    def view(self) -> FollowerLog:
        """The log as its fetcher decides about it."""
        return view_of(self.log)

    def begin(self) -> None:
        """Begin the epoch with a log without gaps: the leader has the missing records.

        A crash may lose the end of a segment, and keep a later one. Below the high watermark such a
        log would differ from its leader's for ever.
        """
        gap = self.log.report.gap
        if gap is not None:
            self.log.report.gap = None
            self.truncate(gap)

    def append(self, records: memoryview, bounds: LeaderBounds) -> Pending[None] | None:
        """Append records of the leader and use its bounds; None if that is done."""
        self._ensure_current()
        if not records:
            self._use_bounds(bounds)
            return None
        return self._run(self._append(records, bounds))

    def truncate(self, offset: int) -> Pending[None] | None:
        """Truncate the log to end at `offset`; None if that is done."""
        manager, partition = self._resources.manager, self.log.partition
        return self._run(self._truncate(lambda: truncate(manager, {partition: offset})))

    def start_at(self, offset: int) -> Pending[None] | None:
        """Remove all records; the log continues at `offset`. None if that is done."""
        manager, partition = self._resources.manager, self.log.partition
        return self._run(self._truncate(lambda: truncate_fully(manager, partition, offset=offset)))

    def use(self, log: Log) -> None:
        """Continue with another log, which has the same records and is durable."""
        self.log = log
        self._use = self._resources.manager.using(log)
        self._flushed_to = log.active_base

    def close(self) -> None:
        """End the epoch."""
        self._has_ended = True

    # -- steps

    def _run(self, steps: _Steps) -> Pending[None] | None:
        """Make the steps; return a result if one of them waits for the disk."""
        first = next(steps, None)
        if first is None:
            return None
        waits = chain((first,), steps)
        return drive(lambda: next(waits, None), call_soon=self._resources.manager.options.call_soon)

    def _append(self, records: memoryview, bounds: LeaderBounds) -> _Steps:
        """Append the records, a segment's size at a time, up to a batch of a later epoch."""
        while records:
            piece = first_piece(records, self.log.config.segment_bytes)
            yield from self._wait_for_others()
            try:
                with self._use:
                    checked = self.log.begin_follower_append(piece, leader_epoch=self.role.epoch)
            except UnexpectedOffsetError as error:
                yield from self._restart(error, leader_start=bounds.log_start)
                continue
            # The log may move to another directory during each wait.
            while (change := self._change_files(checked)) is not None:
                if not change.done():
                    yield change
                change.result()
                self._ensure_current()
            with self._use:
                self.log.finish_follower_append(checked, has_files=True)
            self._on_change()
            yield from self._sync()
            if len(checked.data) < len(piece):
                break
            records = records[len(piece) :]
        self._ensure_current()
        self._use_bounds(bounds)

    def _change_files(self, checked: FollowerRecords) -> Pending[None] | None:
        manager = self._resources.manager
        return prepare_append(manager, self.log, prepared=checked, use=self._use)

    def _restart(self, error: UnexpectedOffsetError, *, leader_start: int) -> _Steps:
        """Restart a log at the first offset of a batch that begins below its end.

        The leader's log start is within that batch, after a deletion of records, and the log has no
        record that the leader has: it is empty, or was truncated to the leader's log start.
        """
        bounds, first = self.log.bounds, error.base_offset
        is_needed = bounds.log_start < bounds.log_end and leader_start < bounds.log_end
        if is_needed or first is None or first >= bounds.log_end:
            raise error
        manager, partition = self._resources.manager, self.log.partition
        yield from self._truncate(lambda: truncate_fully(manager, partition, offset=first))

    def _truncate(self, begin: Callable[[], list[Pending[None]]]) -> _Steps:
        self._ensure_current()
        yield from self._wait_for_others()
        pendings = begin()
        self._flushed_to = self.log.active_base
        self._on_truncation()
        for each in pendings:
            if not each.done():
                yield each
            each.result()

    def _sync(self) -> _Steps:
        """Begin to flush a segment that was closed; wait for what must be durable."""
        log, flusher = self.log, self._resources.flusher
        if log.active_base != self._flushed_to:
            self._flushed_to = log.active_base
            flusher.flush(log)
        wait: Pending[None] | None = None
        if log.bounds.unflushed >= log.config.flush_messages:
            wait = flusher.flush(log)
        elif log.epoch_file.has_unsaved:
            wait = flusher.save_epochs(log)
        if wait is not None:
            if not wait.done():
                yield wait
            wait.result()

    def _wait_for_others(self) -> _Steps:
        """Wait for the changes of earlier epochs, with or without an error."""
        while (end := self.log.changes.end_before_append()) is not None:
            yield end
            self._ensure_current()

    def _use_bounds(self, bounds: LeaderBounds) -> None:
        log = self.log
        new = bounds_after_fetch(
            self.view,
            leader_high_watermark=bounds.high_watermark,
            leader_start=bounds.log_start,
        )
        is_changed = new.high_watermark > log.bounds.high_watermark
        if is_changed:
            log.set_high_watermark(new.high_watermark)
        if new.log_start > log.bounds.log_start:
            is_changed = True
            with self._use:
                log.delete_records(new.log_start)
        if is_changed:
            self._on_change()

    def _ensure_current(self) -> None:
        if self._has_ended:
            raise NotLeaderOrFollowerError(
                f"{self.log.partition} does not follow in epoch {self.role.epoch} any longer"
            )


def view_of(log: Log) -> FollowerLog:
    """Return a log as a fetcher decides about it."""
    bounds = log.bounds
    return FollowerLog(log.epochs, bounds.log_start, bounds.log_end, bounds.high_watermark)
