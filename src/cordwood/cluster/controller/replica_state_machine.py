"""State machine of replicas (Kafka: `ZkReplicaStateMachine`).

    target                from                         action
    new                   non-existent                 LeaderAndIsr, as a new replica
    online                new                          none
    online                online, offline,             LeaderAndIsr
                          deletion ineligible
    offline               new, online, offline,        StopReplica; removed from the in-sync set,
                          deletion ineligible          LeaderAndIsr to the other replicas
    deletion started      offline                      StopReplica with deletion
    deletion successful   deletion started             none
    deletion ineligible   deletion started, offline    none
    non-existent          deletion successful          removed from the assignment

Other changes are reported, and not made. A replica without a leadership changes its state alone.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from cordwood.cluster.controller.broker_request_batch import BrokerRequestBatch
from cordwood.cluster.controller.context.cluster_context import (
    ClusterContext,
    ReplicaLifecycle,
    ReplicasByBroker,
    replicas_of,
)
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.effects import FailedChange, Flow, ReportFailures, perform
from cordwood.cluster.controller.leadership_updates import Leaderships, update_leaderships
from cordwood.core.types import TopicPartition

NEW: Final = ReplicaLifecycle.NEW
ONLINE: Final = ReplicaLifecycle.ONLINE
OFFLINE: Final = ReplicaLifecycle.OFFLINE
STARTED: Final = ReplicaLifecycle.DELETION_STARTED
SUCCESSFUL: Final = ReplicaLifecycle.DELETION_SUCCESSFUL
INELIGIBLE: Final = ReplicaLifecycle.DELETION_INELIGIBLE
NON_EXISTENT: Final = ReplicaLifecycle.NON_EXISTENT

#: The states that a replica may leave for each state.
VALID_PREVIOUS: Final[Mapping[ReplicaLifecycle, frozenset[ReplicaLifecycle]]] = MappingProxyType(
    {
        NEW: frozenset({NON_EXISTENT}),
        ONLINE: frozenset({NEW, ONLINE, OFFLINE, INELIGIBLE}),
        OFFLINE: frozenset({NEW, ONLINE, OFFLINE, INELIGIBLE}),
        STARTED: frozenset({OFFLINE}),
        SUCCESSFUL: frozenset({STARTED}),
        INELIGIBLE: frozenset({OFFLINE, STARTED}),
        NON_EXISTENT: frozenset({SUCCESSFUL}),
    }
)


def change_replica_states(
    context: ClusterContext, replicas: ReplicasByBroker, *, to: ReplicaLifecycle
) -> Flow[None]:
    """Change the states of replicas, broker by broker; send all requests at the end."""
    batch = BrokerRequestBatch(context)
    for broker_id, partitions in replicas.items():
        valid = yield from _valid_changes(context, broker_id, partitions, to)
        if valid:
            yield from _CHANGES[to](context, batch, broker_id, valid)
    yield from batch.send()


def start_replica_states(context: ClusterContext) -> Flow[None]:
    """Derive the states of all replicas from the live brokers, and start and stop them.

    A replica that is not online is ineligible for a deletion first, then offline.
    """
    online, offline = [], []
    for partition, assignment in context.assignments.items():
        for broker_id in assignment.replicas:
            states = context.replica_states.setdefault(broker_id, {})
            if context.is_online(broker_id, partition):
                states[partition] = ONLINE
                online.append((partition, (broker_id,)))
            else:
                states[partition] = INELIGIBLE
                offline.append((partition, (broker_id,)))
    yield from change_replica_states(context, replicas_of(online), to=ONLINE)
    yield from change_replica_states(context, replicas_of(offline), to=OFFLINE)


def _valid_changes(
    context: ClusterContext,
    broker_id: int,
    partitions: Sequence[TopicPartition],
    to: ReplicaLifecycle,
) -> Flow[list[TopicPartition]]:
    previous = VALID_PREVIOUS[to]
    valid, failures = [], []
    for each in partitions:
        state = context.replica_state(broker_id, each)
        if state in previous:
            valid.append(each)
        else:
            failures.append(FailedChange(each, broker_id, to.value, f"it is {state.value}"))
    if failures:
        yield from perform(ReportFailures(failures))
    return valid


def _start_new(
    context: ClusterContext,
    batch: BrokerRequestBatch,
    broker_id: int,
    partitions: Sequence[TopicPartition],
) -> Flow[None]:
    failures, started = [], []
    for each in partitions:
        leadership = context.leaderships.get(each)
        if leadership is not None and leadership.leader == broker_id:
            failures.append(FailedChange(each, broker_id, NEW.value, "it is the leader"))
            continue
        if leadership is not None:
            batch.add_leader_and_isr(each, brokers=(broker_id,), is_new=True)
        started.append(each)
    _set_states(context, broker_id, started, NEW)
    if failures:
        yield from perform(ReportFailures(failures))


def _go_online(
    context: ClusterContext,
    batch: BrokerRequestBatch,
    broker_id: int,
    partitions: Sequence[TopicPartition],
) -> Flow[None]:
    for each in partitions:
        is_started = context.replica_state(broker_id, each) is NEW
        if not is_started and each in context.leaderships:
            batch.add_leader_and_isr(each, brokers=(broker_id,), is_new=False)
    _set_states(context, broker_id, partitions, ONLINE)
    yield from ()


def _go_offline(
    context: ClusterContext,
    batch: BrokerRequestBatch,
    broker_id: int,
    partitions: Sequence[TopicPartition],
) -> Flow[None]:
    for each in partitions:
        batch.add_stop_replica(each, broker_id=broker_id, is_deleted=False)

    def decide(remaining: Sequence[TopicPartition]) -> Flow[Leaderships]:
        yield from ()
        return {each: found for each in remaining if (found := _without(context, each, broker_id))}

    led = [each for each in partitions if each in context.leaderships]
    shrunk = yield from update_leaderships(context, led, decide=decide)
    for each in partitions:
        is_deleted = context.is_deletion_queued(each)
        if each not in shrunk:
            batch.add_update_metadata((each,), brokers=context.brokers)
        elif not is_deleted:
            replicas = context.assignment(each).replicas
            others = [at for at in replicas if at != broker_id and _exists(context, at, each)]
            batch.add_leader_and_isr(each, brokers=others, is_new=False)
    _set_states(context, broker_id, partitions, OFFLINE)


def _exists(context: ClusterContext, broker_id: int, partition: TopicPartition) -> bool:
    return context.replica_state(broker_id, partition) is not NON_EXISTENT


def _without(
    context: ClusterContext, partition: TopicPartition, broker_id: int
) -> Leadership | None:
    """Return the leadership without a replica, None if it does not change."""
    leadership = context.leaderships.get(partition)
    shrunk = None if leadership is None else leadership.without(broker_id)
    return None if shrunk is leadership else shrunk


def _start_deletion(
    context: ClusterContext,
    batch: BrokerRequestBatch,
    broker_id: int,
    partitions: Sequence[TopicPartition],
) -> Flow[None]:
    for each in partitions:
        batch.add_stop_replica(each, broker_id=broker_id, is_deleted=True)
    _set_states(context, broker_id, partitions, STARTED)
    yield from ()


def _mark(to: ReplicaLifecycle) -> "_Change":
    def _change(
        context: ClusterContext,
        batch: BrokerRequestBatch,  # noqa: ARG001 - all changes have the same parameters
        broker_id: int,
        partitions: Sequence[TopicPartition],
    ) -> Flow[None]:
        _set_states(context, broker_id, partitions, to)
        yield from ()

    return _change


def _remove(
    context: ClusterContext,
    batch: BrokerRequestBatch,  # noqa: ARG001 - all changes have the same parameters
    broker_id: int,
    partitions: Sequence[TopicPartition],
) -> Flow[None]:
    states = context.replica_states[broker_id]
    for each in partitions:
        context.assignments[each] = context.assignment(each).without(broker_id)
        del states[each]
    yield from ()


def _set_states(
    context: ClusterContext,
    broker_id: int,
    partitions: Sequence[TopicPartition],
    state: ReplicaLifecycle,
) -> None:
    states = context.replica_states.setdefault(broker_id, {})
    for each in partitions:
        states[each] = state


_Change: TypeAlias = Callable[
    [ClusterContext, BrokerRequestBatch, int, Sequence[TopicPartition]], Flow[None]
]

_CHANGES: Final[Mapping[ReplicaLifecycle, _Change]] = MappingProxyType(
    {
        NEW: _start_new,
        ONLINE: _go_online,
        OFFLINE: _go_offline,
        STARTED: _start_deletion,
        SUCCESSFUL: _mark(SUCCESSFUL),
        INELIGIBLE: _mark(INELIGIBLE),
        NON_EXISTENT: _remove,
    }
)
