"""One partition on this broker: role, reads, leader epochs, waiting fetches (Kafka: `Partition`).

    apply        takes the role that the cluster's metadata give this broker: see `partition_role`
    append       writes records as the leader; the result is done when they count
    followed     changes of the log by the fetcher of its leader
    read         reads up to the bound of the reader
    wait_for     adds a call for "there is enough to read, or the partition has changed"

A partition keeps its identity while its role and its log change. No getter has an effect: only
`apply`, `go_offline` and `close` change the role. A request with another leader epoch is fenced.
"""

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Final, NamedTuple

from cordwood.broker.metadata.metadata_image import NO_LEADER, PartitionImage
from cordwood.broker.partitions import record_deletion
from cordwood.broker.partitions.fetched_records import FetchedRecords
from cordwood.broker.partitions.offset_waiters import OffsetWaiter
from cordwood.broker.partitions.partition_follower import PartitionFollower
from cordwood.broker.partitions.partition_leader import (
    FOR_ALL_REPLICAS,
    AppendRequest,
    PartitionAppendResult,
    PartitionLeader,
    PartitionResources,
)
from cordwood.broker.partitions.partition_role import Follower, Offline, Role
from cordwood.broker.partitions.topic_metrics import TopicMetrics
from cordwood.broker.partitions.waiting_fetches import WaitingFetches
from cordwood.cluster.partition import epoch_lookup
from cordwood.cluster.partition.epoch_lookup import LeaderLog
from cordwood.cluster.partition.leader import AssignedReplicas, Leader
from cordwood.cluster.partition.replica_state import NO_BROKER_EPOCH, UNKNOWN_OFFSET
from cordwood.core.errors import (
    FencedLeaderEpochError,
    KafkaError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
    UnknownLeaderEpochError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.ports import Pending
from cordwood.core.types import NO_LEADER_EPOCH, LeaderEpoch, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEnd
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_read import (
    LATEST,
    FetchIsolation,
    LogPosition,
    LogRead,
    readable_end,
)
from cordwood.storage.segment.segment_view import TimestampAndOffset


class TopicIdPartition(NamedTuple):
    """A partition with the id of its topic (Kafka: `TopicIdPartition`)."""

    topic_id: Uuid
    name: TopicPartition


class Partition:  # tidy: allow[class-lines] the calls of all roles, each of a few lines
    """A partition of a hosted topic. Calls that need another role raise its KafkaError."""

    __slots__ = (
        "_fetches",
        "_follower",
        "_leader",
        "_log",
        "_resources",
        "leader_epoch",
        "metrics",
        "name",
        "role",
        "topic_id",
    )

    def __init__(
        self, identity: TopicIdPartition, *, metrics: TopicMetrics, resources: PartitionResources
    ) -> None:
        self.topic_id: Final = identity.topic_id
        self.name: Final = identity.name
        self.metrics: Final = metrics
        self.leader_epoch = NO_LEADER_EPOCH
        self.role: Role = Offline(NotLeaderOrFollowerError(f"{self.name} has no role yet"))
        self._resources = resources
        self._log: Log | None = None
        self._leader: PartitionLeader | None = None
        self._follower: PartitionFollower | None = None
        self._fetches = WaitingFetches(resources.manager, resources.wakes)

    def __repr__(self) -> str:
        return f"Partition({self.name}, {self.role!r})"

    # -- role

    @property
    def log(self) -> Log:
        """The log; raises the error of a partition that is offline."""
        if self._log is None:
            raise self._error()
        return self._log

    @property
    def led_log(self) -> Log:
        """The log, if this broker leads it."""
        return self._lead().log

    def apply(self, state: PartitionImage) -> None:
        """Take the role that a state of the partition gives this broker.

        The same leadership again only updates the replicas. Without a usable log the
        partition is offline.
        """
        if state.leader_epoch < self.leader_epoch:
            raise FencedLeaderEpochError(
                f"{self.name} has leader epoch {self.leader_epoch}, not {state.leader_epoch}"
            )
        is_same_epoch = state.leader_epoch == self.leader_epoch
        self.leader_epoch = LeaderEpoch(state.leader_epoch)
        try:
            log = self._find_log()
        except KafkaStorageError as error:
            self.go_offline(error)
            return
        if state.leader == NO_LEADER:
            self.go_offline(NotLeaderOrFollowerError(f"{self.name} has no leader"))
        elif state.leader != self._resources.node_id:
            self._follow(Follower(state.leader, self.leader_epoch), log)
        elif is_same_epoch and self._leader is not None and self._leader.log is log:
            self._leader.update(state)
        else:
            self._begin_to_lead(state, log)

    def go_offline(self, error: KafkaError) -> None:
        """Answer every request with `error`, until `apply` gives another role."""
        self._change(Offline(error.with_traceback(None)), None)

    def lose(self, log: Log) -> None:
        """Go offline after the loss of the log; the loss of a future log has no effect."""
        if self._log is None or self._log is log:
            self.go_offline(KafkaStorageError(f"{log.directory} is offline"))

    def replace_log(self, log: Log) -> None:
        """Continue with a copy of the log in another log directory, in the same role."""
        if self._log is None:
            return
        self._log = log
        self._fetches.use(log)
        for part in (self._leader, self._follower):
            if part is not None:
                part.use(log)
        self._fetches.wake_all()

    def close(self) -> None:
        """Stop serving: the topic has been deleted."""
        self.go_offline(UnknownTopicOrPartitionError(f"{self.name} has been deleted"))

    def _find_log(self) -> Log:
        log = self._resources.manager.get(self.name)
        if log is None:
            raise KafkaStorageError(f"there is no log of {self.name} here")
        return log

    def _begin_to_lead(self, state: PartitionImage, log: Log) -> None:
        resources = self._resources
        role = Leader(
            resources.node_id,
            self.leader_epoch,
            assigned=AssignedReplicas(state.replicas, state.isr, state.partition_epoch),
            epoch_start=log.bounds.log_end,
            now_ms=resources.clock.monotonic_ms(),
        )
        leader = PartitionLeader(role, log, resources, self._fetches.wake)
        self._change(role, log, leader=leader)
        leader.begin()

    def _follow(self, role: Follower, log: Log) -> None:
        if role == self.role and log is self._log:
            return
        follower = PartitionFollower(
            role,
            log,
            self._resources,
            on_change=self._fetches.wake,
            on_truncation=self._fetches.restart,
        )
        self._change(role, log, follower=follower)
        follower.begin()

    def _change(
        self,
        role: Role,
        log: Log | None,
        *,
        leader: PartitionLeader | None = None,
        follower: PartitionFollower | None = None,
    ) -> None:
        """Replace the role; end the waits and the changes that depend on the former one."""
        former_leader, self._leader = self._leader, leader
        former_follower, self._follower = self._follower, follower
        self.role, self._log = role, log
        self._fetches.use(log)
        if former_leader is not None:
            former_leader.close(self._error())
        if former_follower is not None:
            former_follower.close()
        self._fetches.wake_all()
        self._resources.on_role(self.name)

    def _lead(self) -> PartitionLeader:
        if self._leader is None:
            raise self._error()
        return self._leader

    def _error(self) -> KafkaError:
        """Return the error for a request that needs a leader here."""
        role = self.role
        if isinstance(role, Offline):
            # A raised error keeps its frames, and with them the request and its records.
            return copy(role.error)
        if isinstance(role, Follower):
            return NotLeaderOrFollowerError(f"broker {role.leader} leads {self.name}")
        return NotLeaderOrFollowerError(f"{self.name} has a new leader epoch; send it again")

    def shrink_isr(self) -> None:
        """Remove the followers that have fallen behind from the in-sync replicas, as the leader."""
        if self._leader is not None:
            self._leader.shrink_isr()

    # -- writing

    def append(
        self, records: memoryview, request: AppendRequest = FOR_ALL_REPLICAS
    ) -> Pending[PartitionAppendResult]:
        """Append a record set as the leader; see `PartitionLeader.append`."""
        return self._lead().append(records, request)

    def leader(self, leader_epoch: int) -> PartitionLeader:
        """Return the leadership with this epoch, for a coordinator's own records.

        Raises the error of a request with another epoch.
        """
        self.ensure_epoch(leader_epoch)
        return self._lead()

    def followed(self, leader_epoch: int) -> PartitionFollower:
        """Return the following in this leader epoch; NotLeaderOrFollowerError if it is not so."""
        follower = self._follower
        if follower is None or follower.role.epoch != leader_epoch:
            raise NotLeaderOrFollowerError(f"{self!r} does not follow in epoch {leader_epoch}")
        return follower

    def delete_records(self, offset: int) -> int:
        """Advance the log start to `offset`, -1 for the high watermark; return the log start."""
        start = record_deletion.delete_records(self._resources.manager, self.led_log, to=offset)
        self._fetches.wake_all()
        return start

    # -- reading

    def read(
        self,
        offset: int,
        *,
        max_bytes: int,
        isolation: FetchIsolation,
        min_one: bool = False,
        needs_leader: bool = True,
    ) -> LogRead:
        """Return the batches from `offset`; the caller releases the slice, if there is one."""
        log, manager = self.led_log if needs_leader else self.log, self._resources.manager
        if offset == readable_end(log.bounds, isolation):  # an idle reader: no file is touched
            return log.read(offset, max_bytes=max_bytes, isolation=isolation)
        with manager.using(log):
            found = log.read(offset, max_bytes=max_bytes, isolation=isolation, min_one=min_one)
        if found.slice is None:
            return found
        return found._replace(slice=FetchedRecords(found.slice, log, manager))

    def follower(
        self,
        replica_id: int,
        *,
        leader_epoch: int,
        log_start: int = UNKNOWN_OFFSET,
        broker_epoch: int = NO_BROKER_EPOCH,
    ) -> Callable[[int], object]:
        """Return the function that stores the fetch offset of a follower after its read.

        Raises for a broker that is not an assigned replica: it has a newer assignment, if it sends
        the leader epoch. Raises for a late fetch of an earlier registration: the broker may have
        lost the end of its log since.
        """
        leader = self._lead()
        replica = leader.role.replica(replica_id)
        if replica is not None:
            if NO_BROKER_EPOCH < broker_epoch < replica.broker_epoch:
                raise NotLeaderOrFollowerError(
                    f"{self.name}: the fetch of broker {replica_id} has broker epoch "
                    f"{broker_epoch}, and an earlier one {replica.broker_epoch}"
                )
            return partial(
                leader.record_fetch, replica_id, log_start=log_start, broker_epoch=broker_epoch
            )
        has_epoch = leader_epoch != NO_LEADER_EPOCH
        error = UnknownLeaderEpochError if has_epoch else NotLeaderOrFollowerError
        raise error(f"broker {replica_id} is not a replica of {self.name}")

    def empty_read(self) -> LogRead:
        """Return a read without records, which carries the current offsets."""
        return LogRead.empty(self.log.bounds)

    def offset_for_timestamp(
        self, timestamp: int, isolation: FetchIsolation
    ) -> TimestampAndOffset | None:
        """Return the first record at or after `timestamp`, or the offset of a special timestamp.

        Decodes batches for a timestamp that `needs_lookup`; on a loop `TimestampLookups` does that.
        """
        log = self.led_log
        if timestamp == LATEST:
            self.ensure_offset_known(None, isolation)
        with self._resources.manager.using(log):
            found = log.offset_for_timestamp(timestamp, isolation)
        if found is not None and timestamp == LATEST:
            return found._replace(leader_epoch=self.leader_epoch)
        return found

    def ensure_offset_known(
        self, found: TimestampAndOffset | None, isolation: FetchIsolation
    ) -> None:
        """Raise if a client's lookup without a result may have one once the leader has caught up.

        Also without a leader here. Kafka: `Partition.fetchOffsetForTimestamp`.
        """
        leader = self._lead()
        if found is None and isolation is not FetchIsolation.LOG_END:
            leader.ensure_high_watermark()

    # -- leader epochs

    def ensure_epoch(self, leader_epoch: int) -> None:
        """Raise if a client's leader epoch is another one; -1 means that it has none."""
        if leader_epoch not in (NO_LEADER_EPOCH, self.leader_epoch):
            raise epoch_lookup.epoch_error(self.name, self.leader_epoch, given=leader_epoch)

    def last_offset_for_leader_epoch(self, leader_epoch: int) -> EpochEnd:
        """Return the largest epoch that is not above this one, and its end offset."""
        log = self._epochs_of(self.led_log)
        return epoch_lookup.last_offset_for_leader_epoch(log, leader_epoch)

    def find_divergence(
        self, last_epoch: int, offset: int, *, needs_leader: bool = True
    ) -> EpochEnd | None:
        """Return where the log of a fetcher up to `offset` diverged from this one, None if not."""
        if last_epoch == NO_LEADER_EPOCH:
            return None
        log = self._epochs_of(self.led_log if needs_leader else self.log)
        return epoch_lookup.find_divergence(log, last_epoch, offset=offset)

    def _epochs_of(self, log: Log) -> LeaderLog:
        bounds = log.bounds
        return LeaderLog(self.name, log.epochs, self.leader_epoch, bounds.log_start, bounds.log_end)

    # -- waiting fetches

    def readable_position(self, isolation: FetchIsolation) -> LogPosition | None:
        """Return the place in the log up to which a reader may read; None without a usable log."""
        return self._fetches.position(isolation)

    def wait_for(
        self, position: LogPosition, call: Callable[[], object], *, isolation: FetchIsolation
    ) -> OffsetWaiter:
        """Call once when a reader may read up to `position`, or when the partition has changed.

        The position is beyond the one up to which the reader may read now.
        """
        return self._fetches.add(position, call, isolation=isolation)
