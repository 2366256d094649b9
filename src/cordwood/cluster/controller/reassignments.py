"""Reassignment of a partition to other brokers (Kafka: `KafkaController.onPartitionReassignment`).

    ORS, TRS    replicas of the origin, of the target        AR = TRS - ORS, RR = ORS - TRS

    U    begin, replace or cancel
         U1    replicas of a replaced reassignment that are not needed: moved from the leadership,
               stopped, deleted; rejected if one of them leads, and no other can
         U2    store ORS + TRS, AR, RR

    A    while a replica of TRS is not in sync
         A1    next leader epoch; LeaderAndIsr to ORS, and to replicas of AR that exist already
         A2    the others of AR new

    B    once all of TRS is in sync
         B1    AR online
         B2    in memory: TRS alone
         B3    a leader in TRS, or the next leader epoch; LeaderAndIsr, so that the leader adds no
               other replica to the in-sync set again; back to A if TRS is not in sync any more
         B4    RR offline: out of the in-sync set, stopped
         B5    RR deleted
         B6    store TRS alone
         B7    withdraw the request in the store, if there was one
         B8    UpdateMetadata to all brokers; the deletion of the topic may continue

The origin is stored until B6, so a fail-over at any step begins again at A or B. The deletion of a
topic waits for its reassignments.

Replicas are deleted after the conditional write of a leader that stays. Until then, a leader with
an earlier protocol may store an in-sync set without the others. Kafka reads the set before B1, and
not at B3. It stores (U2) before it stops replicas (U1): a fail-over in between leaves replicas that
no controller stops.
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

    Return False if it was not begun: the topic is gone, or no in-sync replica would remain, or
    none that can lead.
    """
    halt_deletions(context, (partition.topic,))
    if context.assignment(partition) != assignment:
        begun = yield from _begin(context, partition, assignment)
        if not begun:
            return False
    context.reassigning.add(partition)
    is_done = is_complete(context, partition)
    if is_done:
        is_done = yield from _complete(context, partition, assignment)
    if not is_done:
        yield from _start_adding(context, partition, assignment)
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
    return not assignment.is_being_reassigned or (
        _is_in_sync(context, partition, assignment.target)
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
    former = context.assignment(partition)
    unneeded = _difference(former.replicas, assignment.replicas)
    if unneeded:
        # A replica is deleted for good, so the decision is about the stored in-sync set.
        yield from refresh_leaderships(context, (partition,))
        if not keeps_in_sync_replicas(context, partition, assignment=assignment):
            return False
    context.assignments[partition] = assignment
    if unneeded:
        if _leader(context, partition) in unneeded:
            yield from _elect(context, partition)
        if _leader(context, partition) in unneeded:
            context.assignments[partition] = former
            return False
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
) -> Flow[bool]:
    """Complete a reassignment; return False if its target is not in sync any more."""
    adding = replicas_of([(partition, assignment.adding)])
    yield from change_replica_states(context, adding, to=ReplicaLifecycle.ONLINE)
    completed = assignment.completed()
    context.assignments[partition] = completed
    leader = _leader(context, partition)
    if leader in completed.replicas and context.is_online(leader, partition):
        yield from _next_epoch(context, partition, completed)
    elif partition in context.leaderships:
        yield from _elect(context, partition)
    if not _is_led_by_target(context, partition, assignment):
        context.assignments[partition] = assignment
        return False
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
    return True


def _elect(context: ClusterContext, partition: TopicPartition) -> Flow[None]:
    """Elect a leader among the replicas of the assignment, if one of them is in sync."""
    strategy = ElectionStrategy.REASSIGNMENT
    yield from change_partition_states(context, (partition,), to=_ONLINE, strategy=strategy)


def _leader(context: ClusterContext, partition: TopicPartition) -> int:
    leadership = context.leaderships.get(partition)
    return NO_LEADER if leadership is None else leadership.leader


def _is_in_sync(
    context: ClusterContext, partition: TopicPartition, replicas: Sequence[int]
) -> bool:
    leadership = context.leaderships.get(partition)
    return leadership is not None and set(replicas) <= set(leadership.isr)


def _is_led_by_target(
    context: ClusterContext, partition: TopicPartition, assignment: ReplicaAssignment
) -> bool:
    """Return whether the replicas that a reassignment removes are not needed any more.

    The write of the leader epoch may have met an in-sync set that a leader has stored itself.
    """
    target = assignment.target
    is_led = _leader(context, partition) in target and _is_in_sync(context, partition, target)
    return is_led or not assignment.is_being_reassigned


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
    """Stop and delete replicas that do not lead; that is not awaited, and not repeated."""
    replicas = replicas_of([(partition, broker_ids)])
    for state in (
        ReplicaLifecycle.OFFLINE,
        ReplicaLifecycle.DELETION_STARTED,
        ReplicaLifecycle.DELETION_SUCCESSFUL,
        ReplicaLifecycle.NON_EXISTENT,
    ):
        yield from change_replica_states(context, replicas, to=state)


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
