"""Deletion of topics (Kafka: `TopicDeletionManager`).

    requested ──► queued ──► begun: partitions non-existent, brokers get leader -2
                    │          └──► each replica: offline, deletion started ──► successful
                    │                                        └──► failed ─┐     (all: removed)
                    └──► ineligible: a replica is not online, ◄───────────┘
                         or a reassignment is in progress

An ineligible deletion continues when a broker of the topic returns, or when the last reassignment
of the topic is complete. A topic is removed from the store once all of its replicas are deleted.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from cordwood.cluster.controller.broker_request_batch import send_metadata
from cordwood.cluster.controller.context.cluster_context import (
    ClusterContext,
    PartitionLifecycle,
    ReplicaLifecycle,
    ReplicasByBroker,
    replicas_of,
)
from cordwood.cluster.controller.effects import (
    DeleteTopic,
    DropDeletions,
    Flow,
    ReadDeletions,
    perform,
)
from cordwood.cluster.controller.partition_state_machine import change_partition_states
from cordwood.cluster.controller.replica_state_machine import change_replica_states
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse

OFFLINE: Final = ReplicaLifecycle.OFFLINE
STARTED: Final = ReplicaLifecycle.DELETION_STARTED
SUCCESSFUL: Final = ReplicaLifecycle.DELETION_SUCCESSFUL
INELIGIBLE: Final = ReplicaLifecycle.DELETION_INELIGIBLE


def deletions_requested(context: ClusterContext) -> Flow[None]:
    """Begin the deletions whose requests are in the store."""
    names = yield from perform(ReadDeletions())
    unknown = sorted(each for each in names if each not in context.topics)
    if unknown:
        yield from perform(DropDeletions(unknown))
    known = sorted(each for each in names if each in context.topics)
    if known and not context.settings.is_topic_deletion_enabled:
        yield from perform(DropDeletions(known))
    elif known:
        context.deletions.queued.update(known)
        halt_deletions(context, {each.topic for each in context.reassigning})
        yield from continue_deletions(context)


def load_deletions(context: ClusterContext) -> Flow[None]:
    """Queue the requested deletions, for a fail-over; those that cannot complete are ineligible."""
    names = yield from perform(ReadDeletions())
    if not context.settings.is_topic_deletion_enabled:
        if names:
            yield from perform(DropDeletions(sorted(names)))
        return
    context.deletions.queued.update(names)
    halt_deletions(context, {each.topic for each in context.reassigning})
    offline = {
        partition.topic
        for partition, assignment in context.assignments.items()
        if not all(context.is_online(each, partition) for each in assignment.replicas)
    }
    halt_deletions(context, offline)


def halt_deletions(context: ClusterContext, topics: Collection[str]) -> None:
    """Make the deletions of these topics ineligible, as far as they are queued."""
    context.deletions.ineligible |= context.deletions.queued.intersection(topics)


def resume_deletions(context: ClusterContext, topics: Iterable[str]) -> Flow[None]:
    """Make the deletions of these topics eligible again, unless a reassignment is in progress."""
    busy = {each.topic for each in context.reassigning}
    resumed = context.deletions.queued.intersection(topics) - busy
    if resumed:
        context.deletions.ineligible -= resumed
        yield from continue_deletions(context)


def continue_deletions(context: ClusterContext) -> Flow[None]:
    """Complete the deletions whose replicas are deleted, and begin or repeat the eligible ones."""
    retried, eligible = [], []
    for topic in sorted(context.deletions.queued):
        if context.is_topic_in(topic, SUCCESSFUL):
            yield from _complete(context, topic)
            continue
        if context.has_replica_in(topic, STARTED):
            continue
        if context.has_replica_in(topic, INELIGIBLE):
            retried.append(topic)
        if topic not in context.deletions.ineligible:
            eligible.append(topic)
    for topic in retried:
        replicas = context.replicas_in(topic, INELIGIBLE)
        yield from change_replica_states(context, replicas, to=OFFLINE)
    if eligible:
        yield from _begin(context, eligible)


def replicas_deletion_failed(context: ClusterContext, replicas: ReplicasByBroker) -> Flow[None]:
    """Halt the deletions of the topics of these replicas."""
    queued = _queued(context, replicas)
    if queued:
        yield from change_replica_states(context, queued, to=INELIGIBLE)
        halt_deletions(context, {each.topic for found in queued.values() for each in found})
        yield from continue_deletions(context)


def stop_replica_answered(
    context: ClusterContext,
    broker_id: int,
    *,
    request: StopReplicaRequest,
    response: StopReplicaResponse,
) -> Flow[None]:
    """Continue the deletions of the replicas that a broker has deleted, or could not delete."""
    deleted = {
        (topic.topic_name, each.partition_index)
        for topic in request.topic_states
        for each in topic.partition_states
        if each.delete_partition and topic.topic_name in context.deletions.begun
    }
    succeeded = list[TopicPartition]()
    failed = list[TopicPartition]()
    for each in response.partition_errors:
        partition = TopicPartition(TopicName(each.topic_name), PartitionId(each.partition_index))
        is_awaited = context.replica_state(broker_id, partition) is STARTED
        if is_awaited and (each.topic_name, each.partition_index) in deleted:
            has_failed = response.error_code or each.error_code
            (failed if has_failed else succeeded).append(partition)
    if failed:
        yield from replicas_deletion_failed(context, {broker_id: failed})
    remaining = _queued(context, {broker_id: succeeded})
    if remaining:
        yield from change_replica_states(context, remaining, to=SUCCESSFUL)
        yield from continue_deletions(context)


def _queued(context: ClusterContext, replicas: ReplicasByBroker) -> ReplicasByBroker:
    """Return the replicas whose topics are being deleted."""
    found = {
        broker_id: [each for each in partitions if context.is_deletion_queued(each)]
        for broker_id, partitions in replicas.items()
    }
    return {broker_id: partitions for broker_id, partitions in found.items() if partitions}


def _complete(context: ClusterContext, topic: str) -> Flow[None]:
    replicas = context.replicas_in(topic, SUCCESSFUL)
    yield from change_replica_states(context, replicas, to=ReplicaLifecycle.NON_EXISTENT)
    yield from perform(DeleteTopic(topic))
    context.remove_topic(topic)


def _begin(context: ClusterContext, topics: Sequence[str]) -> Flow[None]:
    """Stop the partitions of topics, and delete their replicas on live brokers."""
    begun = [each for each in topics if each not in context.deletions.begun]
    partitions = [each for topic in begun for each, _ in context.partitions_of(topic)]
    if partitions:
        states = (PartitionLifecycle.OFFLINE, PartitionLifecycle.NON_EXISTENT)
        for state in states:
            yield from change_partition_states(context, partitions, to=state)
    context.deletions.begun.update(begun)
    everything = [each for topic in topics for each, _ in context.partitions_of(topic)]
    yield from send_metadata(context, brokers=context.brokers, partitions=everything)
    yield from _delete_replicas(context, topics)


def _delete_replicas(context: ClusterContext, topics: Sequence[str]) -> Flow[None]:
    dead, live = [], []
    partitions = (each for topic in topics for each in context.partitions_of(topic))
    for partition, assignment in partitions:
        for broker_id in assignment.replicas:
            if not context.is_online(broker_id, partition):
                dead.append((partition, (broker_id,)))
            elif context.replica_state(broker_id, partition) is not SUCCESSFUL:
                live.append((partition, (broker_id,)))
    yield from change_replica_states(context, replicas_of(dead), to=INELIGIBLE)
    yield from change_replica_states(context, replicas_of(live), to=OFFLINE)
    yield from change_replica_states(context, replicas_of(live), to=STARTED)
    halt_deletions(context, {partition.topic for partition, _ in dead})
