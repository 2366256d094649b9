"""Role of a partition on this broker (Kafka: leader and follower state of `Partition`).

    Leader     accepts appends, and knows how far each replica has copied the log
    Follower   copies the log of another broker
    Offline    has no usable log here, or no leader; carries the error for its clients

Three offsets of a leader decide whether records count:

    own end          the first offset that this broker may still lose. It is the log end, unless
                     `flush.messages` asks for an fsync, or the epoch of the records is not saved
    replica ends     the offsets from which the followers fetch
    committed end    the smallest of these ends over the in-sync replicas: the next high watermark.
                     There is none while fewer replicas are in sync than `min.insync.replicas`
                     requires, which never requires more replicas than exist
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.core.errors import KafkaError
from cordwood.core.types import LeaderEpoch

_UNKNOWN: Final = -1


@dataclass(slots=True)
class ReplicaState:
    """A follower as its leader sees it (Kafka: `ReplicaState`); -1 before its first fetch.

    `last_caught_up_ms` is the latest time at which the follower had all records that the leader had
    at that time. `leader_end` is the log end of the leader at the last fetch.
    """

    log_end: int = _UNKNOWN
    leader_end: int = _UNKNOWN
    last_fetch_ms: float = _UNKNOWN
    last_caught_up_ms: float = _UNKNOWN


class Leader:
    """The leadership of one epoch. The in-sync replicas may change within it."""

    __slots__ = ("_node_id", "_replicas", "epoch", "isr", "own_end")

    def __init__(self, node_id: int, state: PartitionImage, *, own_end: int) -> None:
        self.epoch: Final = LeaderEpoch(state.leader_epoch)
        self.isr = state.isr
        self.own_end = own_end
        self._node_id = node_id
        self._replicas = {each: ReplicaState() for each in state.replicas if each != node_id}

    def __repr__(self) -> str:
        return f"Leader(epoch={self.epoch}, isr={self.isr}, own_end={self.own_end})"

    def update(self, state: PartitionImage) -> None:
        """Use other replicas within the epoch; what is known about the others stays."""
        self.isr = state.isr
        self._replicas = {
            each: self._replicas.get(each) or ReplicaState()
            for each in state.replicas
            if each != self._node_id
        }

    def advance_own_end(self, offset: int) -> None:
        """Count the records below `offset` as kept by this broker."""
        self.own_end = max(self.own_end, offset)

    def replica(self, replica_id: int) -> ReplicaState | None:
        """Return the state of a follower, None if the broker is not an assigned replica."""
        return self._replicas.get(replica_id)

    def record_fetch(
        self, replica: ReplicaState, offset: int, *, leader_end: int, now_ms: float
    ) -> None:
        """Store that a follower has the records below `offset`, from which it fetches."""
        if offset >= leader_end:
            replica.last_caught_up_ms = max(replica.last_caught_up_ms, now_ms)
        elif offset >= replica.leader_end:
            replica.last_caught_up_ms = max(replica.last_caught_up_ms, replica.last_fetch_ms)
        replica.log_end, replica.leader_end, replica.last_fetch_ms = offset, leader_end, now_ms

    def has_enough_replicas(self, min_insync_replicas: int) -> bool:
        """Return whether as many replicas are in sync as the topic requires."""
        in_sync = len(self.isr)
        return in_sync >= min_insync_replicas or in_sync > len(self._replicas)

    def committed_end(self, min_insync_replicas: int) -> int | None:
        """Return the first offset that some in-sync replica lacks; None with too few of them."""
        if not self.has_enough_replicas(min_insync_replicas):
            return None
        if len(self.isr) == 1:
            return self._end_of(self.isr[0])
        return min((self._end_of(each) for each in self.isr), default=None)

    def _end_of(self, replica_id: int) -> int:
        if replica_id == self._node_id:
            return self.own_end
        replica = self._replicas.get(replica_id)
        return _UNKNOWN if replica is None else replica.log_end


@dataclass(frozen=True, slots=True)
class Follower:
    """A replica of a log that another broker leads."""

    leader: int
    epoch: LeaderEpoch


@dataclass(frozen=True, slots=True)
class Offline:
    """A partition that cannot be read or written here; every request gets `error`."""

    error: KafkaError


Role: TypeAlias = Leader | Follower | Offline
