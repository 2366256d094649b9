"""One partition, led here: what goes in, when it counts, what comes out, and who waits for more.

    append   into the log and, where `flush.messages` asks for it, on the disk; only then do
             readers see it, and only then may it be acknowledged
    read     below the high watermark, or the last stable offset for read_committed
    watch    a call, made whenever there may be more to read, or nothing any more

There are no other replicas, so whatever the log has when it is taken over is on all of them. The
leader epoch is given: what a leader writes bears it, and whoever knows another one is told so.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from cordwood.broker.traffic import TopicTraffic
from cordwood.core.errors import (
    FencedLeaderEpochError,
    KafkaStorageError,
    OffsetOutOfRangeError,
    PolicyViolationError,
    UnknownLeaderEpochError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.ids import Uuid
from cordwood.core.ports import Pending
from cordwood.core.types import NO_LEADER_EPOCH, LeaderEpoch, TopicPartition
from cordwood.records.inspect import Inspector
from cordwood.storage.appending import AppendResult
from cordwood.storage.epochs import UNKNOWN_END, EpochEnd
from cordwood.storage.flusher import Flusher
from cordwood.storage.log import Log
from cordwood.storage.log_config import DELETE
from cordwood.storage.manager import LogManager
from cordwood.storage.reading import LATEST, Isolation, LogRead
from cordwood.storage.segment_reads import TimestampAndOffset


class PartitionTools(NamedTuple):
    """What partitions work with; `inspector` returns the one that is to be used now."""

    manager: LogManager
    flusher: Flusher
    inspector: Callable[[], Inspector]


class Appended(NamedTuple):
    """What has been written; it may be acknowledged when `durable`, if there is one, is done."""

    result: AppendResult
    log_start: int
    durable: Pending[None] | None


class Partition:
    """A partition whose log is here. Every call raises KafkaStorageError while that is offline."""

    __slots__ = (
        "_is_closed",
        "_log",
        "_tools",
        "_watchers",
        "leader_epoch",
        "name",
        "topic_id",
        "traffic",
    )

    def __init__(
        self,
        name: TopicPartition,
        *,
        topic_id: Uuid,
        leader_epoch: LeaderEpoch,
        traffic: TopicTraffic,
        tools: PartitionTools,
    ) -> None:
        self.name: Final = name
        self.topic_id: Final = topic_id
        self.traffic: Final = traffic
        self.leader_epoch: Final = leader_epoch
        self._tools = tools
        self._log: Log | None = None
        self._watchers: dict[Callable[[], object], None] = {}
        self._is_closed = False

    def __repr__(self) -> str:
        return f"Partition({self.name}, leader_epoch={self.leader_epoch})"

    @property
    def log(self) -> Log:
        """The log, which becomes another one when the partition moves to another directory."""
        if self._log is None or not self._tools.manager.has(self._log):
            return self.take_over()
        return self._log

    def take_over(self) -> Log:
        """Find the log, and let all that is in it be read."""
        if self._is_closed:
            raise UnknownTopicOrPartitionError(f"{self.name} has been deleted")
        log = self._tools.manager.get(self.name)
        if log is None:
            raise KafkaStorageError(f"there is no log of {self.name} here")
        self._log = log
        self._expose(log, log.bounds.log_end)
        return log

    # -- writing

    def append(self, records: memoryview) -> Appended:
        """Write a record set, which is numbered where it lies.

        A duplicate is answered with where it is already; it counts when that does.
        """
        log, tools = self.log, self._tools
        with tools.manager.using(log):
            result = log.append_as_leader(
                records, leader_epoch=self.leader_epoch, inspector=tools.inspector()
            )
        bounds, end = log.bounds, result.last_offset + 1
        is_in_doubt = result.is_duplicate and end > bounds.high_watermark
        if not (result.is_flush_due or is_in_doubt):
            self._expose(log, end)
            return Appended(result, bounds.log_start, None)
        durable = tools.flusher.flush(log)
        durable.add_done_callback(lambda flush: self._flushed(log, end, flush))
        return Appended(result, bounds.log_start, durable)

    def delete_records(self, offset: int) -> int:
        """Let the log start at `offset`, -1 for the high watermark; return where it starts now."""
        log = self.log
        if DELETE not in log.config.cleanup_policy:
            raise PolicyViolationError(
                f"records of {self.name} cannot be deleted: its cleanup.policy is without delete"
            )
        with self._tools.manager.using(log):
            start = log.delete_records(offset)
        self.tell()
        return start

    # -- reading

    def read(
        self, offset: int, *, max_bytes: int, isolation: Isolation, min_one: bool = False
    ) -> LogRead:
        """Return what begins at `offset`, whose slice, if there is one, is the caller's."""
        log = self.log
        with self._tools.manager.using(log):
            return log.read(offset, max_bytes=max_bytes, isolation=isolation, min_one=min_one)

    def nothing_new(self) -> LogRead:
        """Return what a reader gets to whom there is nothing to say but the offsets."""
        bounds = self.log.bounds
        return LogRead(
            None, bounds.high_watermark, bounds.last_stable, bounds.log_start, bounds.log_end
        )

    def offset_for_timestamp(
        self, timestamp: int, isolation: Isolation
    ) -> TimestampAndOffset | None:
        """Return the first record that is not earlier, or what a special timestamp stands for."""
        log = self.log
        with self._tools.manager.using(log):
            found = log.offset_for_timestamp(timestamp, isolation)
        if found is not None and timestamp == LATEST:
            return found._replace(leader_epoch=self.leader_epoch)
        return found

    # -- leader epochs

    def ensure_epoch(self, leader_epoch: int) -> None:
        """Refuse whoever knows another leader epoch; -1 knows none."""
        if leader_epoch in (NO_LEADER_EPOCH, self.leader_epoch):
            return
        words = f"the leader epoch of {self.name} is {self.leader_epoch}, not {leader_epoch}"
        if leader_epoch < self.leader_epoch:
            raise FencedLeaderEpochError(words)
        raise UnknownLeaderEpochError(words)

    def end_of_epoch(self, leader_epoch: int) -> EpochEnd:
        """Return the largest epoch up to this one, and the offset where it ends."""
        log = self.log
        if leader_epoch == self.leader_epoch:
            return EpochEnd(self.leader_epoch, log.bounds.log_end)
        return log.epochs.end_offset_for(LeaderEpoch(leader_epoch), log.bounds.log_end)

    def divergence(self, last_epoch: int, offset: int) -> EpochEnd | None:
        """Return where the log of a reader left this one, None if it has not.

        The reader has read up to `offset`, and last a record of `last_epoch`.
        """
        if last_epoch == NO_LEADER_EPOCH:
            return None
        end = self.end_of_epoch(last_epoch)
        if end == UNKNOWN_END or offset < self.log.bounds.log_start:
            raise OffsetOutOfRangeError(
                f"of {self.name} it is not known whether epoch {last_epoch} reached {offset}"
            )
        return end if end.epoch < last_epoch or end.end_offset < offset else None

    # -- those who wait

    def watch(self, call: Callable[[], object]) -> None:
        """Make the call from now on whenever a reader should look again."""
        self._watchers[call] = None

    def unwatch(self, call: Callable[[], object]) -> None:
        """Make the call no more."""
        self._watchers.pop(call, None)

    def tell(self) -> None:
        """Make the calls of all who watch."""
        for call in tuple(self._watchers):
            call()

    def close(self) -> None:
        """Answer nobody any more: the topic is gone."""
        self._is_closed = True
        self._log = None
        self.tell()

    # -- within

    def _flushed(self, log: Log, end: int, flush: Pending[None]) -> None:
        if flush.exception() is None:
            self._expose(log, end)

    def _expose(self, log: Log, end: int) -> None:
        """Let readers see up to `end`, if they do not."""
        if end > log.bounds.high_watermark:
            log.set_high_watermark(end)
            self.tell()
