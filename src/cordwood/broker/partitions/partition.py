"""One partition led by this broker: append, read, and the fetches that wait (Kafka: `Partition`).

    append   writes to the log, and waits for the fsync that `flush.messages` asks for, or for the
             file of the leader epochs in a new epoch; then the high watermark advances, and the
             append may be acknowledged
    read     reads up to the high watermark, or up to the last stable offset for read_committed
    watch    adds a callback for "there may be more to read, or the partition has gone"

There are no followers, so a log is fully replicated when this broker becomes its leader. The leader
epoch is fixed at that moment: appended batches carry it, and a request with another one is fenced.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from cordwood.broker.partitions.fetched_records import FetchedRecords
from cordwood.broker.partitions.topic_metrics import TopicMetrics
from cordwood.core.errors import (
    FencedLeaderEpochError,
    KafkaStorageError,
    OffsetOutOfRangeError,
    PolicyViolationError,
    UnknownLeaderEpochError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.ports import Pending
from cordwood.core.types import NO_LEADER_EPOCH, LeaderEpoch, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.records.record_checks import Inspector
from cordwood.storage.checkpoints.leader_epoch_cache import UNKNOWN_END, EpochEnd
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_append import AppendResult
from cordwood.storage.log.log_read import LATEST, FetchIsolation, LogRead
from cordwood.storage.manager.log_flusher import LogFlusher
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.segment.segment_view import TimestampAndOffset


class TopicIdPartition(NamedTuple):
    """A partition with the id of its topic (Kafka: `TopicIdPartition`)."""

    topic_id: Uuid
    name: TopicPartition


class PartitionAppendResult(NamedTuple):
    """A written record set; it may be acknowledged when `durable`, if there is one, is done."""

    result: AppendResult
    log_start: int
    durable: Pending[None] | None


class Partition:
    """A partition with a local log. Every call raises KafkaStorageError while it is offline."""

    __slots__ = (
        "_flusher",
        "_inspector",
        "_is_closed",
        "_log",
        "_manager",
        "_watchers",
        "leader_epoch",
        "metrics",
        "name",
        "topic_id",
    )

    def __init__(
        self,
        identity: TopicIdPartition,
        *,
        leader_epoch: LeaderEpoch,
        metrics: TopicMetrics,
        manager: LogManager,
        flusher: LogFlusher,
        inspector: Callable[[], Inspector],
    ) -> None:
        self.topic_id: Final = identity.topic_id
        self.name: Final = identity.name
        self.leader_epoch: Final = leader_epoch
        self.metrics: Final = metrics
        self._manager = manager
        self._flusher = flusher
        self._inspector = inspector
        self._log: Log | None = None
        self._watchers: dict[Callable[[], object], None] = {}
        self._is_closed = False

    def __repr__(self) -> str:
        return f"Partition({self.name}, leader_epoch={self.leader_epoch})"

    @property
    def log(self) -> Log:
        """The log; another object after the partition has moved to another directory."""
        if self._log is None or not self._manager.has(self._log):
            return self.become_leader()
        return self._log

    def become_leader(self) -> Log:
        """Find the log, begin the leader epoch at its end, and make everything in it readable."""
        if self._is_closed:
            raise UnknownTopicOrPartitionError(f"{self.name} has been deleted")
        log = self._manager.get(self.name)
        if log is None:
            raise KafkaStorageError(f"there is no log of {self.name} here")
        self._log = log
        log.epoch_file.assign(self.leader_epoch, log.bounds.log_end)
        self._advance_high_watermark(log, log.bounds.log_end)
        return log

    # -- writing

    def append(self, records: memoryview) -> PartitionAppendResult:
        """Append a record set; its offsets are written into `records` itself.

        A duplicate returns the offsets of the first append. It may be acknowledged only when that
        append may be. A roll begins a flush of the closed segment, for which no append waits.
        """
        log = self.log
        with self._manager.using(log):
            result = log.append_as_leader(
                records, leader_epoch=self.leader_epoch, inspector=self._inspector()
            )
        bounds, end = log.bounds, result.last_offset + 1
        # The first append of this duplicate may still wait for its fsync, which may fail.
        is_in_doubt = result.is_duplicate and end > bounds.high_watermark
        rolled = None if result.rolled is None else self._flusher.flush(log)
        if result.is_flush_due or is_in_doubt:
            durable = rolled or self._flusher.flush(log)
        elif log.epoch_file.has_unsaved:
            durable = self._flusher.save_epochs(log)
        else:
            self._advance_high_watermark(log, end)
            return PartitionAppendResult(result, bounds.log_start, None)
        durable.add_done_callback(lambda flush: self._complete_flush(log, end, flush))
        return PartitionAppendResult(result, bounds.log_start, durable)

    def delete_records(self, offset: int) -> int:
        """Advance the log start to `offset`, -1 for the high watermark; return the log start."""
        log = self.log
        if log.config.is_compacted and not log.config.is_deleted:
            raise PolicyViolationError(
                f"records of {self.name} cannot be deleted: its cleanup.policy is compact alone"
            )
        with self._manager.using(log):
            start = log.delete_records(offset)
        self.notify_watchers()
        return start

    # -- reading

    def read(
        self, offset: int, *, max_bytes: int, isolation: FetchIsolation, min_one: bool = False
    ) -> LogRead:
        """Return the batches from `offset`; the caller releases the slice, if there is one."""
        log = self.log
        with self._manager.using(log):
            found = log.read(offset, max_bytes=max_bytes, isolation=isolation, min_one=min_one)
        if found.slice is None:
            return found
        return found._replace(slice=FetchedRecords(found.slice, log, self._manager))

    def empty_read(self) -> LogRead:
        """Return a read without records, which carries the current offsets."""
        bounds = self.log.bounds
        return LogRead(
            None, bounds.high_watermark, bounds.last_stable, bounds.log_start, bounds.log_end
        )

    def offset_for_timestamp(
        self, timestamp: int, isolation: FetchIsolation
    ) -> TimestampAndOffset | None:
        """Return the first record at or after `timestamp`, or the offset of a special timestamp.

        Decodes batches for a timestamp that `needs_lookup`; on a loop `TimestampLookups` does that.
        """
        log = self.log
        with self._manager.using(log):
            found = log.offset_for_timestamp(timestamp, isolation)
        if found is not None and timestamp == LATEST:
            return found._replace(leader_epoch=self.leader_epoch)
        return found

    # -- leader epochs

    def ensure_epoch(self, leader_epoch: int) -> None:
        """Raise if a client's leader epoch is another one; -1 means that it has none."""
        if leader_epoch in (NO_LEADER_EPOCH, self.leader_epoch):
            return
        words = f"the leader epoch of {self.name} is {self.leader_epoch}, not {leader_epoch}"
        if leader_epoch < self.leader_epoch:
            raise FencedLeaderEpochError(words)
        raise UnknownLeaderEpochError(words)

    def last_offset_for_leader_epoch(self, leader_epoch: int) -> EpochEnd:
        """Return the largest epoch that is not above this one, and its end offset."""
        log = self.log
        if leader_epoch == self.leader_epoch:
            return EpochEnd(self.leader_epoch, log.bounds.log_end)
        return log.epochs.end_offset_for(LeaderEpoch(leader_epoch), log.bounds.log_end)

    def find_divergence(self, last_epoch: int, offset: int) -> EpochEnd | None:
        """Return where the fetcher's log diverged from this one, None if it has not.

        The fetcher has read up to `offset`, and its last record has the epoch `last_epoch`.
        """
        if last_epoch == NO_LEADER_EPOCH:
            return None
        end = self.last_offset_for_leader_epoch(last_epoch)
        if end == UNKNOWN_END or offset < self.log.bounds.log_start:
            raise OffsetOutOfRangeError(
                f"{self.name}: the end of epoch {last_epoch} is unknown (fetch offset {offset})"
            )
        return end if end.epoch < last_epoch or end.end_offset < offset else None

    # -- waiting fetches

    def watch(self, call: Callable[[], object]) -> None:
        """Add a callback for every change that a waiting fetch must look at."""
        self._watchers[call] = None

    def unwatch(self, call: Callable[[], object]) -> None:
        """Remove a callback; an unknown one is ignored."""
        self._watchers.pop(call, None)

    def notify_watchers(self) -> None:
        """Make all callbacks."""
        for call in tuple(self._watchers):
            call()

    def close(self) -> None:
        """Stop serving: the topic has been deleted."""
        self._is_closed = True
        self._log = None
        self.notify_watchers()

    # -- within

    def _complete_flush(self, log: Log, end: int, flush: Pending[None]) -> None:
        if flush.exception() is None:
            self._advance_high_watermark(log, end)

    def _advance_high_watermark(self, log: Log, end: int) -> None:
        """Make records below `end` readable, and wake the fetches that wait for them."""
        if end > log.bounds.high_watermark:
            log.set_high_watermark(end)
            self.notify_watchers()
