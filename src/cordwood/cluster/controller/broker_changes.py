"""Brokers that come, go, and register again, and log directories that fail.

Kafka: `processBrokerChange`, `onBrokerStartup`, `onBrokerFailure`, `onReplicasBecomeOffline`.

    comes             metadata to all, replicas online, elections, reassignments, deletions continue
    goes              leaders elected elsewhere, replicas offline, deletions halt
    registers again   goes, then comes: its process has started again since
    log directory     LeaderAndIsr to its broker; replicas with KAFKA_STORAGE_ERROR go offline

A broker that comes gets the metadata of all partitions, the others get its address first: leaders
among them may have it as a follower at once.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from cordwood.cluster.controller.broker_request_batch import send_metadata
from cordwood.cluster.controller.context.cluster_context import (
    ClusterContext,
    PartitionLifecycle,
    ReplicaLifecycle,
    ReplicasByBroker,
)
from cordwood.cluster.controller.context.live_broker import LiveBroker
from cordwood.cluster.controller.effects import (
    ConnectBrokers,
    DisconnectBrokers,
    Flow,
    ReadBrokers,
    perform,
)
from cordwood.cluster.controller.partition_state_machine import (
    change_partition_states,
    elect_missing_leaders,
)
from cordwood.cluster.controller.reassignments import resume_reassignments
from cordwood.cluster.controller.replica_state_machine import change_replica_states
from cordwood.cluster.controller.topic_deletions import (
    replicas_deletion_failed,
    resume_deletions,
)
from cordwood.core.errors import KafkaStorageError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.leader_and_isr import LeaderAndIsrResponse

_OFFLINE: Final = PartitionLifecycle.OFFLINE


def brokers_changed(context: ClusterContext) -> Flow[None]:
    """Take over the registered brokers."""
    registered = yield from perform(ReadBrokers())
    found = {each.broker_id: each for each in sorted(registered)}
    known = context.brokers
    new = [each for each in found.values() if each.broker_id not in known]
    dead = sorted(known.keys() - found.keys())
    again = [each for key, each in found.items() if key in known and each.epoch > known[key].epoch]
    if new:
        yield from perform(ConnectBrokers(new))
        yield from _brokers_came(context, new)
    if again:
        names = [each.broker_id for each in again]
        yield from perform(DisconnectBrokers(names))
        yield from perform(ConnectBrokers(again))
        yield from _brokers_went(context, names)
        yield from _brokers_came(context, again)
    if dead:
        yield from perform(DisconnectBrokers(dead))
        yield from _brokers_went(context, dead)


def broker_modified(context: ClusterContext, broker: LiveBroker) -> Flow[None]:
    """Take over the endpoints of a broker with the same registration."""
    known = context.brokers.get(broker.broker_id)
    if known is not None and known.epoch == broker.epoch and known != broker:
        context.brokers[broker.broker_id] = broker
        yield from send_metadata(context, brokers=context.brokers)


def log_directories_failed(context: ClusterContext, broker_ids: Iterable[int]) -> Flow[None]:
    """Send the leaderships of brokers to them, so that they report their offline replicas."""
    replicas = context.replicas_on(each for each in broker_ids if each in context.brokers)
    yield from change_replica_states(context, replicas, to=ReplicaLifecycle.ONLINE)


def leader_and_isr_answered(
    context: ClusterContext, broker_id: int, *, response: LeaderAndIsrResponse
) -> Flow[None]:
    """Take over the replicas that are offline on a broker, or online again."""
    if response.error_code or broker_id not in context.brokers:
        return
    offline = context.offline_replicas.get(broker_id, set())
    lost = []
    for topic in response.topics:
        name = context.topic_names.get(topic.topic_id)
        for each in topic.partition_errors if name is not None else ():
            partition = TopicPartition(TopicName(name or ""), PartitionId(each.partition_index))
            if each.error_code == KafkaStorageError.code and partition not in offline:
                lost.append(partition)
            elif not each.error_code:
                offline.discard(partition)
    if lost:
        context.offline_replicas[broker_id] = offline.union(lost)
        yield from replicas_went_offline(context, {broker_id: lost})


def replicas_went_offline(context: ClusterContext, replicas: ReplicasByBroker) -> Flow[None]:
    """Elect other leaders, and remove the replicas from the in-sync sets."""
    staying: dict[int, list[TopicPartition]] = {}
    deleted: dict[int, list[TopicPartition]] = {}
    for broker_id, partitions in replicas.items():
        for each in partitions:
            side = deleted if context.is_deletion_queued(each) else staying
            side.setdefault(broker_id, []).append(each)
    lost = context.partitions_with_lost_leader()
    yield from change_partition_states(context, lost, to=_OFFLINE)
    elected = yield from elect_missing_leaders(context)
    yield from change_replica_states(context, staying, to=ReplicaLifecycle.OFFLINE)
    yield from replicas_deletion_failed(context, deleted)
    if not staying and not elected:
        yield from send_metadata(context, brokers=context.brokers)


def _brokers_came(context: ClusterContext, brokers: Sequence[LiveBroker]) -> Flow[None]:
    before = [*context.brokers]
    names = [each.broker_id for each in brokers]
    context.register(brokers)
    yield from send_metadata(context, brokers=before)
    everything = context.partitions_with_leaderships()
    yield from send_metadata(context, brokers=names, partitions=everything)
    replicas = context.replicas_on(names)
    yield from change_replica_states(context, replicas, to=ReplicaLifecycle.ONLINE)
    yield from elect_missing_leaders(context)
    yield from resume_reassignments(
        context,
        is_resumed=lambda _, assignment: not set(names).isdisjoint(assignment.target),
    )
    topics = {each.topic for found in replicas.values() for each in found}
    yield from resume_deletions(context, topics)


def _brokers_went(context: ClusterContext, broker_ids: Sequence[int]) -> Flow[None]:
    context.unregister(broker_ids)
    yield from replicas_went_offline(context, context.replicas_on(broker_ids))
