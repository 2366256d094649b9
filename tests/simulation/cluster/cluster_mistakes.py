"""Mistakes of a cluster, planted one at a time to prove that the simulation finds them.

Each changes one step of the protocol. Where another step would hide the mistake, both are changed;
the docstring of the plant names the other one.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import pytest

from cordwood.broker.handlers import fetch
from cordwood.broker.membership.controller_fence import ControllerFence
from cordwood.broker.membership.replica_roles import AssignedRole, ReplicaRoles
from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_leader import PartitionLeader
from cordwood.cluster.active_controller.active_controller import ActiveController
from cordwood.cluster.active_controller.controller_events import ControllerEvent
from cordwood.cluster.controller import leader_election, leadership_updates, partition_state_machine
from cordwood.cluster.controller.context.cluster_context import ClusterContext
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.effects import Flow, ReadLeaderships, perform
from cordwood.cluster.controller.requests import in_sync_updates
from cordwood.cluster.partition import replica_fetcher
from cordwood.cluster.partition.in_sync_replicas import (
    IsrProposal,
    PendingExpandIsr,
    PendingShrinkIsr,
)
from cordwood.cluster.partition.leader import LagCheck, Leader
from cordwood.cluster.partition.replica_state import ReplicaState
from cordwood.cluster.partition.truncation import (
    FetchFrom,
    FollowerLog,
    TruncateTo,
    next_fetch,
)
from cordwood.cluster.zookeeper.store.guarded_writes import GuardedWrites
from cordwood.cluster.zookeeper.store.metadata_event import ControllerChanged, SessionExpired
from cordwood.core.errors import KafkaError, StaleControllerEpochError
from cordwood.core.types import LeaderEpoch, TopicPartition
from cordwood.storage.log.log_read import FetchIsolation
from tests.simulation.cluster.cluster_ledger import LOST, ONE_LEADER, PREFIXES, UNCHANGED
from tests.simulation.cluster.cluster_simulation import CONVERGED

Plant = Callable[[pytest.MonkeyPatch], None]


class ClusterMistake(NamedTuple):
    """A mistake, the invariants that it violates, and the first seed that has found it.

    A change of the product can change the history of that seed; a search finds the next one.
    """

    plant: Plant
    invariants: frozenset[str]
    seed: int = 0


def _replaced(owner: object, name: str, made: object) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(owner, name, made)

    return plant


# -- followers


def _to_the_high_watermark(log: FollowerLog, *, detects_on_fetch: bool) -> FetchFrom | TruncateTo:
    del detects_on_fetch
    if log.high_watermark < log.log_end:
        return TruncateTo(log.high_watermark)
    return next_fetch(log)


# -- leaders


def _counts_at_once(patch: pytest.MonkeyPatch) -> None:
    write = PartitionLeader._write  # noqa: SLF001  the step itself is patched
    patch.setattr(
        PartitionLeader,
        "_write",
        lambda leader, prepared, request: write(leader, prepared, request._replace(acks=1)),
    )


def _own_end(leader: Leader, wanted: int, *, check: LagCheck | None = None) -> int | None:
    del check
    return None if leader.is_under_min_isr(wanted) else leader.own_end


def _fetched_is_written(patch: pytest.MonkeyPatch) -> None:
    record = ReplicaState.record_fetch

    def early(replica: ReplicaState, offset: int, *, leader_end: int, **others: float) -> None:
        del offset
        record(replica, leader_end, leader_end=leader_end, **others)  # type: ignore[arg-type]  # passed on

    patch.setattr(ReplicaState, "record_fetch", early)


def _joins_behind(patch: pytest.MonkeyPatch) -> None:
    propose = Leader.propose_expansion

    def early(
        leader: Leader, replica_id: int, *, high_watermark: int, eligible: Mapping[int, int]
    ) -> IsrProposal | None:
        del high_watermark
        start, end = leader.epoch_start, 0
        object.__setattr__(leader, "epoch_start", 0)
        try:
            return propose(leader, replica_id, high_watermark=end, eligible=eligible)
        finally:
            object.__setattr__(leader, "epoch_start", start)

    patch.setattr(Leader, "propose_expansion", early)


def _expansion_counts_late(patch: pytest.MonkeyPatch) -> None:
    """The leader also holds back the high watermark for a follower that is about to join."""
    committed = Leader.committed_end

    def unchecked(leader: Leader, wanted: int, *, check: LagCheck | None = None) -> int | None:
        del check
        return committed(leader, wanted)

    patch.setattr(PendingExpandIsr, "maximal_isr", property(lambda pending: pending.isr))
    patch.setattr(Leader, "committed_end", unchecked)


# -- fences


def _any_fetch(patch: pytest.MonkeyPatch) -> None:
    """The epochs of registrations hide a late fetch of a broker that has lost its log since."""
    patch.setattr(Partition, "ensure_epoch", lambda partition, leader_epoch: None)
    patch.setattr(ReplicaState, "is_of", lambda replica, broker_epoch: True)
    patch.setattr(
        in_sync_updates, "_is_eligible", lambda context, broker_id, _: broker_id in context.live
    )


def _any_role(patch: pytest.MonkeyPatch) -> None:
    """The request and the partition compare leader epochs, and the fence compares connections."""
    check, apply = ReplicaRoles._check, Partition.apply  # noqa: SLF001  as above
    ensure_current = ControllerFence.ensure_current

    def late(fence: ControllerFence, *, connection_id: int, **epochs: int) -> None:
        _, latest_id = fence._latest  # noqa: SLF001  as above
        ensure_current(fence, connection_id=max(connection_id, latest_id), **epochs)

    def unchecked(roles: ReplicaRoles, role: AssignedRole) -> KafkaError | None:
        error = check(roles, role)
        return None if isinstance(error, StaleControllerEpochError) else error

    def unfenced(partition: Partition, state: PartitionImage) -> None:
        if state.leader_epoch < partition.leader_epoch:
            partition.leader_epoch = LeaderEpoch(state.leader_epoch)
        apply(partition, state)

    patch.setattr(ControllerFence, "ensure_current", late)
    patch.setattr(ReplicaRoles, "_check", unchecked)
    patch.setattr(Partition, "apply", unfenced)


def _same_epoch(patch: pytest.MonkeyPatch) -> None:
    """A broker refuses a role of the leader epoch that it has."""
    following = Leadership.next_epoch

    def same(leadership: Leadership, **changes: object) -> Leadership:
        after = following(leadership, **changes)  # type: ignore[arg-type]  # passed on
        return after._replace(leader_epoch=leadership.leader_epoch)

    patch.setattr(Leadership, "next_epoch", same)
    _any_role(patch)


def _unguarded(patch: pytest.MonkeyPatch) -> None:
    """A controller also ends its role with its session, and when it reads who is elected."""
    begin = GuardedWrites.__init__
    process = ActiveController._process  # noqa: SLF001  as above

    async def keeping(controller: ActiveController, event: ControllerEvent) -> None:
        is_end = isinstance(event, SessionExpired | ControllerChanged)
        if not (is_end and controller.is_active):
            await process(controller, event)

    def refresh(context: ClusterContext, partitions: Sequence[TopicPartition]) -> Flow[None]:
        found = yield from perform(ReadLeaderships(partitions))
        context.leaderships.update(found)

    patch.setattr(
        GuardedWrites, "__init__", lambda writes, client, guard: begin(writes, client, None)
    )
    for module in (leadership_updates, in_sync_updates, partition_state_machine):
        patch.setattr(module, "refresh_leaderships", refresh, raising=False)
    patch.setattr(ActiveController, "_process", keeping)
    patch.setattr(
        ActiveController,
        "_on_metadata_event",
        lambda controller, event: controller._events.put(event),  # noqa: SLF001  as above
    )


def _first_online(patch: pytest.MonkeyPatch) -> None:
    elect = leader_election._elect_online  # noqa: SLF001  as above

    def any_online(
        context: ClusterContext,
        partition: TopicPartition,
        leadership: Leadership,
        *,
        is_unclean_allowed: bool,
    ) -> leader_election.Election:
        replicas = context.assignment(partition).replicas
        known = leadership._replace(isr=(*replicas,))
        return elect(context, partition, known, is_unclean_allowed=is_unclean_allowed)

    patch.setattr(leader_election, "_elect_online", any_online)


MISTAKES: Final[Mapping[str, ClusterMistake]] = MappingProxyType(
    {
        "a follower truncates to its high watermark": ClusterMistake(
            _replaced(replica_fetcher, "first_step", _to_the_high_watermark),
            frozenset({LOST, UNCHANGED, PREFIXES}),
            seed=57,
        ),
        "a follower keeps its log in the next epoch": ClusterMistake(
            _replaced(Partition, "find_divergence", lambda *_, **__: None),
            frozenset({PREFIXES, UNCHANGED, LOST}),
            seed=2,
        ),
        "an append counts before the in-sync set has it": ClusterMistake(
            _counts_at_once, frozenset({LOST}), seed=3
        ),
        "the high watermark counts only the leader": ClusterMistake(
            _replaced(Leader, "committed_end", _own_end),
            frozenset({LOST, PREFIXES, UNCHANGED}),
            seed=7,
        ),
        "a follower has what was sent to it": ClusterMistake(
            _fetched_is_written, frozenset({LOST, PREFIXES, UNCHANGED}), seed=0
        ),
        "consumers read above the high watermark": ClusterMistake(
            _replaced(fetch, "isolation_of", lambda _: FetchIsolation.LOG_END),
            frozenset({UNCHANGED}),
            seed=0,
        ),
        "a follower joins the in-sync set behind the high watermark": ClusterMistake(
            _joins_behind, frozenset({LOST, PREFIXES, UNCHANGED}), seed=45
        ),
        "an expansion counts once it is answered": ClusterMistake(
            _expansion_counts_late, frozenset({LOST, PREFIXES, UNCHANGED}), seed=80
        ),
        "a shrink counts before the controller has stored it": ClusterMistake(
            _replaced(
                PendingShrinkIsr, "maximal_isr", property(lambda pending: pending.proposed_isr)
            ),
            frozenset({LOST, PREFIXES, UNCHANGED}),
            seed=5,
        ),
        "a leader is elected outside of the in-sync set": ClusterMistake(
            _first_online, frozenset({LOST, PREFIXES, UNCHANGED}), seed=0
        ),
        "a controller does not check its epoch": ClusterMistake(
            _unguarded, frozenset({LOST, PREFIXES, UNCHANGED, ONE_LEADER, CONVERGED}), seed=24
        ),
        "a broker takes the role of an earlier leader epoch": ClusterMistake(
            _any_role, frozenset({LOST, PREFIXES, UNCHANGED, ONE_LEADER, CONVERGED}), seed=36
        ),
        "an election keeps the leader epoch": ClusterMistake(
            _same_epoch, frozenset({ONE_LEADER, LOST, PREFIXES, UNCHANGED, CONVERGED}), seed=0
        ),
        "a leader serves fetches of every leader epoch": ClusterMistake(
            _any_fetch, frozenset({LOST, PREFIXES, UNCHANGED, CONVERGED}), seed=1
        ),
    }
)
