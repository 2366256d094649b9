"""A replica that moves to another log directory of this broker, until it has moved.

Kafka: `ReplicaAlterLogDirsThread`, `Partition.maybeReplaceCurrentWithFutureReplica`.

    align      the future log is truncated where it differs, or begins where the log begins
    copy       a piece of the log, read and flushed on the worker
    replace    appends wait; the rest is copied and synced; the directories are renamed

The log can be read and written meanwhile. Its cleaning and its retention are paused, as in Kafka:
segments that were cleaned after their copy would count as cleaned in the future log.

A change of the role, a truncation or a deletion may come between two steps. Each step looks at the
logs as they are.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Final, NamedTuple

from cordwood.broker.partitions.partition_follower import view_of
from cordwood.broker.pending_results import wait_for, wait_until_done
from cordwood.cluster.partition.epoch_lookup import LeaderLog, find_divergence
from cordwood.cluster.partition.replication_quota_manager import ReplicationQuotaManager
from cordwood.cluster.partition.truncation import StartAt, TruncateTo, step_after_epoch_end
from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import KafkaStorageError, OffsetOutOfRangeError
from cordwood.core.ports import Lane
from cordwood.core.types import NO_LEADER_EPOCH, TopicPartition
from cordwood.storage.log.follower_records import first_piece
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_read import FetchIsolation, LogRead
from cordwood.storage.manager.future_logs import MOVE, promotion
from cordwood.storage.manager.log_changes import drive_change, prepare_append
from cordwood.storage.manager.log_flusher import LogFlusher
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.manager.step_driver import drive

#: The pause before another look at a log that is being cleaned, or at the rate.
PAUSE_MS: Final = 1_000


class MoveParts(NamedTuple):
    """Resources that all moves share; `replaced` is called with a log that has taken its place."""

    manager: LogManager
    flusher: LogFlusher
    quota: ReplicationQuotaManager
    sleep_ms: Callable[[float], Awaitable[None]]
    max_bytes: int
    replaced: Callable[[Log], object] = lambda _: None


class MoveEndedError(KafkaStorageError):
    """The move has ended otherwise: one of the two logs was deleted or lost."""


class FutureReplica:
    """The move of one replica; `current` and `future` are its logs."""

    def __init__(self, partition: TopicPartition, parts: MoveParts) -> None:
        self.partition: Final = partition
        self._parts = parts
        manager = parts.manager
        self.current: Final = manager.current.require(partition)
        self.future: Final = manager.future.require(partition)
        if MOVE not in self.current.lease.pausers:
            self.current.lease = self.current.lease.pause(MOVE)

    def release(self) -> None:
        """Let the log be cleaned again, if it has not been replaced."""
        lease = self.current.lease
        if MOVE in lease.pausers:
            self.current.lease = lease.resume(MOVE)

    async def run(self) -> None:
        """Copy, and replace the log; KafkaError if one of the logs cannot be used."""
        while not await self._replace_if_equal():
            while self._parts.quota.is_exceeded or self.current.lease.is_held:
                await self._parts.sleep_ms(PAUSE_MS)
                self._ensure_current()
            await self._copy()

    # -- steps

    async def _replace_if_equal(self) -> bool:
        """Replace the log if the future log has all of it; appends wait meanwhile."""
        current, future = self.current, self.future
        if self.current.lease.is_held or not await self._is_aligned():
            return False
        await wait_for(self._parts.flusher.flush(future))
        while (end := current.changes.end_before_append()) is not None:
            await wait_until_done(end)
        self._ensure_current()
        held = current.changes.files_end = Future[None]()
        try:
            while not await self._is_aligned():
                await self._copy()
            await wait_for(self._parts.flusher.flush(future))
            self._use_bounds()
            self._ensure_current()
            await self._promote(held)
        finally:
            if not held.done():
                held.set_result(None)
        return True

    async def _promote(self, held: Future[None]) -> None:
        """Make the renames; a cancellation waits for their end."""

        def replace(log: Log) -> None:
            self._replace(log)
            held.set_result(None)

        manager = self._parts.manager
        steps = promotion(manager, self.partition, replace=replace)
        end = drive(lambda: next(steps, None), call_soon=manager.options.call_soon)
        cancellation: asyncio.CancelledError | None = None
        while not end.done():
            try:
                await wait_until_done(end)
            except asyncio.CancelledError as error:
                cancellation = error
        if cancellation is not None:
            raise cancellation
        end.result()

    def _replace(self, log: Log) -> None:
        self._use_bounds()
        log.bounds.cleaned_to = self.current.bounds.cleaned_to
        self._parts.replaced(log)

    async def _is_aligned(self) -> bool:
        """Truncate the future log if it differs; return whether it has the whole log."""
        self._ensure_current()
        step = self._divergence()
        if step is not None:
            await self._truncate(step)
        self._ensure_current()
        return self.future.bounds.log_end == self.current.bounds.log_end

    def _divergence(self) -> TruncateTo | StartAt | None:
        """Return the truncation after which the future log is a prefix of the log."""
        copy, log = view_of(self.future), view_of(self.current)
        if copy.log_end < log.log_start:
            return StartAt(log.log_start)
        if copy.latest_epoch == NO_LEADER_EPOCH:
            end = min(copy.high_watermark, log.log_end)
            return TruncateTo(end) if copy.log_end > log.log_end else None
        leader = LeaderLog(self.partition, log.epochs, log.latest_epoch, log.log_start, log.log_end)
        try:
            found = find_divergence(leader, copy.latest_epoch, offset=copy.log_end)
        except OffsetOutOfRangeError:
            return StartAt(log.log_start)
        return None if found is None else step_after_epoch_end(copy, found)

    async def _truncate(self, step: TruncateTo | StartAt) -> None:
        manager, future = self._parts.manager, self.future
        with manager.using(future):
            change = (
                future.begin_full_truncation(step.offset)
                if isinstance(step, StartAt)
                else future.begin_truncation(step.offset)
            )
        if change is not None:
            await wait_for(drive_change(manager, future, change=change, lane=Lane.FLUSH))

    async def _copy(self) -> None:
        """Copy one piece, if there is one and the future log does not differ."""
        manager, future = self._parts.manager, self.future
        if self._divergence() is not None:
            return
        records, first_offset = await self._read()
        if not records:
            return
        bounds = future.bounds
        if bounds.log_start == bounds.log_end and first_offset != bounds.log_end:
            # The log begins within a batch, after a deletion of records.
            await self._truncate(StartAt(first_offset))
        piece = first_piece(records, future.config.segment_bytes)
        with manager.using(future):
            # Records of every leader epoch are copied.
            checked = future.begin_follower_append(piece, leader_epoch=INT32_MAX)
        while (change := prepare_append(manager, future, prepared=checked)) is not None:
            await wait_for(change)
            self._ensure_current()
        base = future.active_base
        with manager.using(future):
            future.finish_follower_append(checked, has_files=True)
        if future.active_base != base:
            await wait_for(self._parts.flusher.flush(future))
        self._parts.quota.record(len(checked.data))
        self._ensure_current()
        self._use_bounds()

    async def _read(self) -> tuple[memoryview, int]:
        """Return the records after the end of the future log, and the offset of the first batch."""
        parts, current, offset = self._parts, self.current, self.future.bounds.log_end
        with parts.manager.using(current):
            found: LogRead = current.read(
                offset, max_bytes=parts.max_bytes, isolation=FetchIsolation.LOG_END, min_one=True
            )
        if found.slice is None:
            return memoryview(b""), offset
        try:
            read = parts.manager.ports.worker.submit(found.slice.read, lane=Lane.READ)
            records = await wait_for(read)
        except OSError as error:
            raise parts.manager.error_of(current, error) from error
        finally:
            found.slice.release()
        self._ensure_current()
        return records, found.base_offset

    def _use_bounds(self) -> None:
        """Use high watermark and log start of the log, as far as the future log has them."""
        future, bounds = self.future, self.current.bounds
        future.set_high_watermark(min(bounds.high_watermark, future.bounds.log_end))
        log_start = min(bounds.log_start, future.bounds.high_watermark)
        if log_start > future.bounds.log_start:
            with self._parts.manager.using(future):
                future.delete_records(log_start)

    def _ensure_current(self) -> None:
        manager, name = self._parts.manager, self.partition
        if manager.current.get(name) is not self.current:
            raise MoveEndedError(f"{name}: the log was deleted while it moved")
        if manager.future.get(name) is not self.future:
            raise MoveEndedError(f"{name}: the move was cancelled")
