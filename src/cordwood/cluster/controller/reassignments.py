"""Reassignment of a partition to other brokers (Kafka: `KafkaController.onPartitionReassignment`).

    ORS, TRS    replicas of the origin, of the target        AR = TRS - ORS, RR = ORS - TRS

    U    begin, replace or cancel
         U1    replicas of a replaced reassignment that are not needed: moved from the leadership,
               stopped, deleted
         U2    store ORS + TRS, AR, RR

    A    while a replica of TRS is not in sync
         A1    next leader epoch; LeaderAndIsr to ORS, and to replicas of AR that exist already
         A2    the others of AR new

    B    once all of TRS is in sync
         B1    AR online
         B2    in memory: TRS alone
         B3    a leader in TRS, or the next leader epoch; LeaderAndIsr, so that the leader adds no
               other replica to the in-sync set again
         B4    RR offline: out of the in-sync set, stopped
         B5    RR deleted
         B6    store TRS alone
         B7    withdraw the request in the store, if there was one
         B8    UpdateMetadata to all brokers; the deletion of the topic may continue

The origin is stored until B6, so a fail-over at any step begins again at A or B. The deletion of a
topic waits for its reassignments. Kafka stores (U2) before it stops replicas (U1): a fail-over in
between leaves replicas that no controller stops.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from cordwood.cluster.controller.broker_request_batch import BrokerRequestBatch, send_metadata
from cordwood.cluster.controller.context.cluster_context import (
    ClusterContext,
    PartitionLifecycle,
    ReplicaLifecycle,
    replicas_of,
)
from cordwood.cluster.controller.context.leadership import NO_LEADER
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import (
    Flow,
    ReadRequestedReassignments,
    WriteAssignment,
    WriteRequestedReassignments,
    perform,
)
from cordwood.cluster.controller.leader_election import ElectionStrategy
from cordwood.cluster.controller.leadership_updates import (
    Leaderships,
    refresh_leaderships,
    update_leaderships,
)
from cordwood.cluster.controller.partition_state_machine import change_partition_states
from cordwood.cluster.controller.replica_state_machine import change_replica_states
from cordwood.cluster.controller.topic_deletions import halt_deletions, resume_deletions
from cordwood.core.types import TopicPartition

_ONLINE: Final = PartitionLifecycle.ONLINE


def reassign(
    context: ClusterContext, partition: TopicPartition, *, assignment: ReplicaAssignment
) -> Flow[bool]:
    """Begin or continue a reassignment, and complete it if its target is in sync.

    Return False if it was not begun: the topic is gone, or no in-sync replica would remain.
    """
    halt_deletions(context, (partition.topic,))
    if context.assignment(partition) != assignment:
        begun = yield from _begin(context, partition, assignment)
        if not begun:
            return False
    context.reassigning.add(partition)
    if not is_complete(context, partition):
        yield from _start_adding(context, partition, assignment)
    else:
        yield from _complete(context, partition, assignment)
    return True


def keeps_in_sync_replicas(
    context: ClusterContext, partition: TopicPartition, *, assignment: ReplicaAssignment
) -> bool:
    """Return whether an in-sync replica would remain with an assignment."""
    leadership = context.leaderships.get(partition)
    return leadership is None or not set(leadership.isr).isdisjoint(assignment.replicas)


def resume_reassignments(
    context: ClusterContext, *, is_resumed: Callable[[TopicPartition, ReplicaAssignment], bool]
) -> Flow[None]:
    """Continue the reassignments that fulfil the condition."""
    for partition in sorted(context.reassigning):
        assignment = context.assignment(partition)
        if is_resumed(partition, assignment):
            yield from reassign(context, partition, assignment=assignment)


def complete_reassignments(
    context: ClusterContext, partitions: Iterable[TopicPartition]
) -> Flow[None]:
    """Complete the reassignments among these partitions whose targets are in sync."""
    for partition in partitions:
        if partition in context.reassigning and is_complete(context, partition):
            assignment = context.assignment(partition)
            yield from reassign(context, partition, assignment=assignment)


def is_complete(context: ClusterContext, partition: TopicPartition) -> bool:
    """Return whether all target replicas are in sync, and one of them can lead."""
    assignment = context.assignment(partition)
    if not assignment.is_being_reassigned:
        return True
    leadership = context.leaderships.get(partition)
    return (
        leadership is not None
        and set(assignment.target) <= set(leadership.isr)
        and any(context.is_online(each, partition) for each in assignment.target)
    )


def withdraw_requested_reassignments(
    context: ClusterContext,
    *,
    is_withdrawn: Callable[[TopicPartition, Sequence[int]], bool],
) -> Flow[None]:
    """Remove reassignments that fulfil the condition from those requested through the store."""
    del context  # all flows have the context as their first parameter
    requested = yield from perform(ReadRequestedReassignments())
    kept = {
        partition: replicas
        for partition, replicas in requested.items()
        if not is_withdrawn(partition, replicas)
    }
    if len(kept) < len(requested):
        yield from perform(WriteRequestedReassignments(kept))


def _begin(
    context: ClusterContext, partition: TopicPartition, assignment: ReplicaAssignment
) -> Flow[bool]:
    """Store a reassignment; return False if that was not possible."""
    unneeded = _difference(context.assignment(partition).replicas, assignment.replicas)
    if unneeded:
        # A replica is deleted for good, so the decision is about the stored in-sync set.
        yield from refresh_leaderships(context, (partition,))
        if not keeps_in_sync_replicas(context, partition, assignment=assignment):
            return False
    context.assignments[partition] = assignment
    if unneeded:
        leadership = context.leaderships.get(partition)
        if leadership is not None and leadership.leader in unneeded:
            yield from change_partition_states(context, (partition,), to=_ONLINE)
        yield from _delete_replicas(context, partition, unneeded)
    return (yield from _store(context, partition))


def _start_adding(
    context: ClusterContext, partition: TopicPartition, assignment: ReplicaAssignment
) -> Flow[None]:
    yield from _next_epoch(context, partition, assignment)
    new = [each for each in assignment.adding if not _exists(context, partition, each)]
    replicas = replicas_of([(partition, new)])
    yield from change_replica_states(context, replicas, to=ReplicaLifecycle.NEW)


def _complete(
    context: ClusterContext, partition: TopicPartition, assignment: ReplicaAssignment
) -> Flow[None]:
    adding = replicas_of([(partition, assignment.adding)])
    yield from change_replica_states(context, adding, to=ReplicaLifecycle.ONLINE)
    completed = assignment.completed()
    context.assignments[partition] = completed
    leadership = context.leaderships.get(partition)
    leader = NO_LEADER if leadership is None else leadership.leader
    if leader in completed.replicas and context.is_online(leader, partition):
        yield from _next_epoch(context, partition, completed)
    elif leadership is not None:
        yield from change_partition_states(
            context, (partition,), to=_ONLINE, strategy=ElectionStrategy.REASSIGNMENT
        )
    yield from _delete_replicas(context, partition, assignment.removing)
    yield from _store(context, partition)
    yield from withdraw_requested_reassignments(
        context,
        is_withdrawn=lambda name, replicas: (
            name == partition and tuple(replicas) == completed.replicas
        ),
    )
    context.reassigning.discard(partition)
    yield from send_metadata(context, brokers=context.brokers, partitions=(partition,))
    yield from resume_deletions(context, (partition.topic,))


def _next_epoch(
    context: ClusterContext, partition: TopicPartition, assignment: ReplicaAssignment
) -> Flow[None]:
    """Raise the leader epoch, so that the leader takes the assignment from its next request.

    The added replicas are new, so their logs may be created in any log directory. The others are
    not: they may have logs in a failed one.
    """

    def decide(remaining: Sequence[TopicPartition]) -> Flow[Leaderships]:
        yield from ()
        return {
            each: found.next_epoch(leader=found.leader, isr=found.isr)
            for each in remaining
            if (found := context.leaderships.get(each)) is not None
        }

    raised = yield from update_leaderships(context, (partition,), decide=decide)
    if raised:
        adding = [each for each in assignment.adding if _exists(context, partition, each)]
        batch = BrokerRequestBatch(context)
        batch.add_leader_and_isr(partition, brokers=assignment.origin, is_new=False)
        batch.add_leader_and_isr(partition, brokers=adding, is_new=True)
        yield from batch.send()


def _delete_replicas(
    context: ClusterContext, partition: TopicPartition, broker_ids: Sequence[int]
) -> Flow[None]:
    """Stop and delete replicas; their deletion is not awaited, and not repeated."""
    replicas = replicas_of([(partition, broker_ids)])
    for state in (
        ReplicaLifecycle.OFFLINE,
        ReplicaLifecycle.DELETION_STARTED,
        ReplicaLifecycle.DELETION_SUCCESSFUL,
        ReplicaLifecycle.NON_EXISTENT,
    ):
        yield from change_replica_states(context, replicas, to=state)
    leadership = context.leaderships.get(partition)
    if leadership is not None and leadership.leader == NO_LEADER:
        offline = PartitionLifecycle.OFFLINE
        yield from change_partition_states(context, (partition,), to=offline)


def _store(context: ClusterContext, partition: TopicPartition) -> Flow[bool]:
    """Store the assignments of the partition's topic; a topic that is gone is forgotten."""
    topic = partition.topic
    stored = yield from perform(WriteAssignment(topic, context.assignments_of(topic)))
    if not stored:
        context.remove_topic(topic)
    return stored


def _exists(context: ClusterContext, partition: TopicPartition, broker_id: int) -> bool:
    state = context.replica_state(broker_id, partition)
    return state is not ReplicaLifecycle.NON_EXISTENT


def _difference(replicas: Iterable[int], others: Sequence[int]) -> list[int]:
    return [each for each in replicas if each not in others]
