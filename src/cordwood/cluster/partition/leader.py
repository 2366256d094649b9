"""Leadership of one partition in one leader epoch (Kafka: leader state of `Partition`).

Three offsets decide whether records count:

    own end          the first offset that this broker may still lose. It is the log end, unless
                     `flush.messages` asks for an fsync, or the epoch of the records is not saved
    replica ends     the offsets from which the followers fetch
    committed end    the next high watermark: the smallest of these ends over this broker, the
                     maximal ISR, and the followers that are about to join it. There is none while
                     fewer replicas are in sync than `min.insync.replicas` requires

A follower that has caught up and may join holds back the high watermark before it is in sync.
Otherwise a leader alone in the ISR would raise it with each append, and the follower, a round
behind, could never reach it. `min.insync.replicas` never requires more replicas than exist.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from cordwood.cluster.partition.in_sync_replicas import (
    AlteredIsr,
    CommittedIsr,
    IsrProposal,
    IsrState,
    PendingExpandIsr,
    PendingIsr,
    PendingShrinkIsr,
)
from cordwood.cluster.partition.replica_state import (
    NO_BROKER_EPOCH,
    UNKNOWN_OFFSET,
    ReplicaState,
)
from cordwood.core.errors import (
    FencedLeaderEpochError,
    IneligibleReplicaError,
    InvalidRequestError,
    InvalidUpdateVersionError,
    NewLeaderElectedError,
    NotEnoughReplicasAfterAppendError,
    NotEnoughReplicasError,
    OperationNotAttemptedError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import LeaderEpoch, TopicPartition

#: The controller has not applied the change, and the partition epoch was the right one.
_NOT_APPLIED: Final = frozenset({OperationNotAttemptedError.code, IneligibleReplicaError.code})
#: The leader has an outdated state. It is unknown whether an earlier attempt was applied.
_OUTDATED: Final = frozenset(
    error.code
    for error in (
        FencedLeaderEpochError,
        InvalidRequestError,
        InvalidUpdateVersionError,
        NewLeaderElectedError,
        UnknownTopicIdError,
        UnknownTopicOrPartitionError,
    )
)


class AssignedReplicas(NamedTuple):
    """The replicas of a partition and those in sync; without a controller the epoch is 0."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    partition_epoch: int = 0


class LagCheck(NamedTuple):
    """A moment at which lags are measured: the leader's log end, and `replica.lag.time.max.ms`.

    `eligible` has the brokers that may join the ISR, with ZooKeeper those that are alive, and their
    broker epochs, -1 where these are unknown.
    """

    now_ms: float
    leader_end: int
    max_lag_ms: float
    eligible: Mapping[int, int]


class ProposalOutcome(Enum):
    """The effect of an answer to a proposal."""

    COMMITTED = "committed"
    #: The ISR is the one before the proposal, and another change may be proposed.
    REVERTED = "reverted"
    #: The change stays pending until the controller sends the state of the partition.
    AWAITS_STATE = "awaits state"
    #: The same proposal has to be sent again.
    RETRY = "retry"
    #: The answer is one to an earlier proposal, or of another epoch.
    IGNORED = "ignored"


class Leader:
    """The leadership of one epoch. The in-sync replicas may change within it."""

    __slots__ = ("_in_sync", "_node_id", "_replicas", "_sent", "epoch", "epoch_start", "own_end")

    def __init__(
        self,
        node_id: int,
        epoch: LeaderEpoch,
        *,
        assigned: AssignedReplicas,
        epoch_start: int,
        now_ms: float,
    ) -> None:
        self.epoch: Final = epoch
        #: The log end at the election. A follower below it may lack records that count.
        self.epoch_start: Final = epoch_start
        self.own_end = 0
        self._node_id = node_id
        self._in_sync: IsrState = CommittedIsr(assigned.isr, assigned.partition_epoch)
        #: The last proposal; its change may not be pending any longer.
        self._sent: IsrProposal | None = None
        self._replicas = {
            each: ReplicaState.at_election(is_in_sync=each in assigned.isr, now_ms=now_ms)
            for each in assigned.replicas
            if each != node_id
        }

    def __repr__(self) -> str:
        return f"Leader(epoch={self.epoch}, in_sync={self._in_sync}, own_end={self.own_end})"

    @property
    def isr(self) -> tuple[int, ...]:
        """The committed in-sync replicas."""
        return self._in_sync.isr

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        """The in-sync replicas, with those of a pending change."""
        return self._in_sync.maximal_isr

    @property
    def partition_epoch(self) -> int:
        """The partition epoch of the committed in-sync replicas."""
        state = self._in_sync
        return (state if isinstance(state, CommittedIsr) else state.last_committed).partition_epoch

    @property
    def pending(self) -> PendingIsr | None:
        """The change that is on its way to the controller."""
        return None if isinstance(self._in_sync, CommittedIsr) else self._in_sync

    def update(self, assigned: AssignedReplicas) -> bool:
        """Use a state of the partition within the epoch; return False for an outdated one.

        The ends and times of the followers stay. A repeated state does not end a pending change:
        the controller may have applied that since.
        """
        if assigned.partition_epoch < self.partition_epoch:
            return False
        if assigned.partition_epoch > self.partition_epoch or self.pending is None:
            self._in_sync = CommittedIsr(assigned.isr, assigned.partition_epoch)
        self._replicas = {
            each: self._replicas.get(each) or ReplicaState()
            for each in assigned.replicas
            if each != self._node_id
        }
        return True

    # -- ends

    def advance_own_end(self, offset: int) -> None:
        """Count the records below `offset` as kept by this broker."""
        self.own_end = max(self.own_end, offset)

    def replica(self, replica_id: int) -> ReplicaState | None:
        """Return the state of a follower, None if the broker is not an assigned replica."""
        return self._replicas.get(replica_id)

    def committed_end(
        self, min_insync_replicas: int, *, check: LagCheck | None = None
    ) -> int | None:
        """Return the first offset that some required replica lacks; None with too few in sync.

        Without a check, no follower is about to join.
        """
        if self.is_under_min_isr(min_insync_replicas):
            return None
        end = self.own_end
        if not self._replicas:
            return end
        for each in self.maximal_isr:
            if each != self._node_id:
                replica = self._replicas.get(each)
                end = min(end, UNKNOWN_OFFSET if replica is None else replica.log_end)
        if check is None:
            return end
        for each, replica in self._replicas.items():
            if replica.log_end < end and _is_eligible(each, replica, check.eligible):
                end = replica.log_end if _is_caught_up(replica, check) else end
        return end

    # -- min.insync.replicas

    def is_under_min_isr(self, min_insync_replicas: int) -> bool:
        """Return whether fewer replicas are in sync than the topic requires."""
        in_sync = len(self._in_sync.isr)
        return in_sync < min_insync_replicas and in_sync <= len(self._replicas)

    def ensure_min_isr(self, partition: TopicPartition, min_insync_replicas: int) -> None:
        """Raise if an append for all replicas must be rejected before its write."""
        if self.is_under_min_isr(min_insync_replicas):
            raise NotEnoughReplicasError(
                f"{partition}: {len(self.isr)} replicas are in sync "
                f"(min.insync.replicas is {min_insync_replicas})"
            )

    def error_after_append(
        self, partition: TopicPartition, min_insync_replicas: int
    ) -> NotEnoughReplicasAfterAppendError | None:
        """Return the error of an append whose records are written: too few replicas have them.

        A pending follower counts: the high watermark waits for it.
        """
        in_sync = len(self.maximal_isr)
        if in_sync >= min_insync_replicas or in_sync > len(self._replicas):
            return None
        return NotEnoughReplicasAfterAppendError(
            f"{partition}: the records are written, but {in_sync} replicas are in sync "
            f"(min.insync.replicas is {min_insync_replicas})"
        )

    # -- changes of the in-sync replicas

    def propose_expansion(
        self, replica_id: int, *, high_watermark: int, eligible: Mapping[int, int]
    ) -> IsrProposal | None:
        """Propose to add a follower after its fetch, if it has caught up and may join.

        It has caught up with the high watermark and with the start of the epoch. The high watermark
        of a new leader may be below records that count: those end at the start of its epoch.
        """
        state, replica = self._in_sync, self._replicas.get(replica_id)
        if replica is None or not isinstance(state, CommittedIsr) or replica_id in state.isr:
            return None
        if not _is_eligible(replica_id, replica, eligible):
            return None
        if replica.log_end < max(high_watermark, self.epoch_start):
            return None
        return self._propose(PendingExpandIsr(replica_id, state))

    def propose_shrink(self, check: LagCheck) -> IsrProposal | None:
        """Propose to remove the followers that have fallen behind by time."""
        state = self._in_sync
        if not isinstance(state, CommittedIsr):
            return None
        out_of_sync = frozenset(self._out_of_sync(state.isr, check))
        return self._propose(PendingShrinkIsr(out_of_sync, state)) if out_of_sync else None

    def complete(self, proposal: IsrProposal, answer: AlteredIsr | int) -> ProposalOutcome:
        """Apply the controller's answer to a proposal: the state that it has now, or an error code.

        After an error that leaves the outcome unknown the change stays pending, with the maximal
        ISR, which is safe.
        """
        pending = self.pending
        if pending is None or proposal != self._sent:
            return ProposalOutcome.IGNORED
        if isinstance(answer, AlteredIsr):
            return self._commit(answer)
        if answer in _NOT_APPLIED:
            self._in_sync = pending.last_committed
            return ProposalOutcome.REVERTED
        return ProposalOutcome.AWAITS_STATE if answer in _OUTDATED else ProposalOutcome.RETRY

    def _propose(self, pending: PendingIsr) -> IsrProposal:
        self._in_sync = pending
        self._sent = sent = IsrProposal(
            self.epoch,
            pending.last_committed.partition_epoch,
            pending.proposed_isr,
            tuple(self._broker_epoch(each) for each in pending.proposed_isr),
        )
        return sent

    def _broker_epoch(self, replica_id: int) -> int:
        replica = self._replicas.get(replica_id)
        return NO_BROKER_EPOCH if replica is None else replica.broker_epoch

    def _commit(self, answer: AlteredIsr) -> ProposalOutcome:
        """Commit the controller's state; its epoch is unchanged if it had that state before."""
        if answer.leader_epoch != self.epoch or answer.partition_epoch < self.partition_epoch:
            return ProposalOutcome.IGNORED
        self._in_sync = CommittedIsr(answer.isr, answer.partition_epoch)
        return ProposalOutcome.COMMITTED

    def _out_of_sync(self, isr: tuple[int, ...], check: LagCheck) -> list[int]:
        followers = (each for each in isr if each != self._node_id)
        return [
            each
            for each in followers
            if (replica := self._replicas.get(each)) is None or not _is_caught_up(replica, check)
        ]


def _is_caught_up(replica: ReplicaState, check: LagCheck) -> bool:
    return replica.is_caught_up(check.leader_end, now_ms=check.now_ms, max_lag_ms=check.max_lag_ms)


def _is_eligible(replica_id: int, replica: ReplicaState, eligible: Mapping[int, int]) -> bool:
    """Return whether the broker is alive, in the registration that has sent the last fetch."""
    epoch = eligible.get(replica_id)
    return epoch is not None and replica.is_of(epoch)
