"""New topics and new partitions (Kafka: `processTopicChange`, `onNewPartitionCreation`).

    new partitions ──► partition new ──► replicas new ──► partition online ──► replicas online

A topic that is missing in the store is forgotten. While a topic is being deleted, partitions that
are added to it are taken back: their replicas would outlive it.
"""

from collections.abc import Collection, Mapping
from typing import Final

from cordwood.cluster.controller.context.cluster_context import (
    ClusterContext,
    PartitionLifecycle,
    ReplicaLifecycle,
    replicas_of,
)
from cordwood.cluster.controller.effects import (
    AssignTopicIds,
    Flow,
    ReadTopicNames,
    ReadTopics,
    StoredAssignment,
    WriteAssignment,
    perform,
)
from cordwood.cluster.controller.partition_state_machine import change_partition_states
from cordwood.cluster.controller.replica_state_machine import change_replica_states
from cordwood.core.types import PartitionId, TopicName, TopicPartition

_ONLINE: Final = PartitionLifecycle.ONLINE


def topics_changed(context: ClusterContext) -> Flow[None]:
    """Create the new topics in the store, and forget those that are missing in it."""
    names = yield from perform(ReadTopicNames())
    for topic in sorted(context.topics.keys() - set(names)):
        context.remove_topic(topic)
    new = sorted(set(names) - context.topics.keys())
    if new:
        stored = yield from load_topics(context, new)
        yield from _create(context, _partitions(stored))


def partitions_changed(context: ClusterContext, topic: str) -> Flow[None]:
    """Create the partitions that were added to a topic."""
    stored = yield from perform(ReadTopics((topic,)))
    if topic not in context.topics or topic not in stored:
        return
    known = context.assignments_of(topic)
    added = {
        each: assignment
        for each, assignment in stored[topic].partitions.items()
        if each not in known
    }
    if added and topic in context.deletions.queued:
        yield from perform(WriteAssignment(topic, known))
    elif added:
        context.add_partitions(topic, added)
        names = [TopicPartition(TopicName(topic), PartitionId(each)) for each in added]
        yield from _create(context, names)


def load_topics(
    context: ClusterContext, topics: Collection[str]
) -> Flow[Mapping[str, StoredAssignment]]:
    """Read topics into the context; those without an id get one."""
    stored = yield from perform(ReadTopics(tuple(topics)))
    unnamed = [each for each, found in stored.items() if found.topic_id is None]
    drawn = (yield from perform(AssignTopicIds(unnamed))) if unnamed else {}
    for topic, found in stored.items():
        topic_id = found.topic_id or drawn.get(topic)
        if topic_id is not None:
            context.set_topic_id(topic, topic_id)
        context.add_partitions(topic, found.partitions)
    return stored


def _partitions(stored: Mapping[str, StoredAssignment]) -> list[TopicPartition]:
    return [
        TopicPartition(TopicName(topic), PartitionId(each))
        for topic, found in stored.items()
        for each in found.partitions
    ]


def _create(context: ClusterContext, partitions: Collection[TopicPartition]) -> Flow[None]:
    names = tuple(partitions)
    replicas = replicas_of((each, context.assignment(each).replicas) for each in names)
    yield from change_partition_states(context, names, to=PartitionLifecycle.NEW)
    yield from change_replica_states(context, replicas, to=ReplicaLifecycle.NEW)
    yield from change_partition_states(context, names, to=_ONLINE)
    yield from change_replica_states(context, replicas, to=ReplicaLifecycle.ONLINE)
