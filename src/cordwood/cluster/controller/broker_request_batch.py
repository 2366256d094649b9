"""Requests of one step, collected by broker (Kafka: `ControllerBrokerRequestBatch`).

    LeaderAndIsr     v7   leaderships of the replicas of a broker
    UpdateMetadata   v8   leaderships for clients, and all live brokers; one set for all recipients
    StopReplica      v4   replicas to stop, and to delete if set

The requests leave in this order. Only registered brokers get one, with their broker epoch. The
partition states are shared by the requests that contain them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar

from cordwood.cluster.controller.context.cluster_context import ClusterContext
from cordwood.cluster.controller.context.leadership import LEADER_DURING_DELETE, Leadership
from cordwood.cluster.controller.context.live_broker import LiveBroker
from cordwood.cluster.controller.effects import BrokerRequest, Flow, SendRequests, perform
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import NO_UUID
from cordwood.protocol.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from cordwood.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from cordwood.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

S = TypeVar("S")

LEADER_AND_ISR_VERSION: Final = 7
UPDATE_METADATA_VERSION: Final = 8
STOP_REPLICA_VERSION: Final = 4


class BrokerRequestBatch:
    """A batch of requests; `send` sends them, and leaves it empty."""

    def __init__(self, context: ClusterContext) -> None:
        self._context = context
        self._leaderships: dict[int, dict[TopicPartition, LeaderAndIsrPartitionState]] = {}
        self._stopped: dict[int, dict[TopicPartition, StopReplicaPartitionState]] = {}
        self._updated: dict[TopicPartition, None] = {}
        self._update_recipients: set[int] = set()
        self._has_leaderships = False

    def add_leader_and_isr(
        self, partition: TopicPartition, *, brokers: Iterable[int], is_new: bool
    ) -> None:
        """Add the leadership of a partition for these brokers, and its metadata for all.

        A replica that is new in one of the additions is new in the request.
        """
        leadership = self._context.leaderships[partition]
        state = self._leader_and_isr_state(partition, leadership, is_new=is_new)
        new_state = state if is_new else None
        for broker_id in brokers:
            states = self._leaderships.setdefault(broker_id, {})
            known = states.get(partition)
            if known is not None and known.is_new and not is_new:
                if new_state is None:
                    new_state = self._leader_and_isr_state(partition, leadership, is_new=True)
                states[partition] = new_state
            else:
                states[partition] = state
        self._updated[partition] = None
        self._has_leaderships = True

    def add_stop_replica(
        self, partition: TopicPartition, *, broker_id: int, is_deleted: bool
    ) -> None:
        """Add a replica to stop; one that is deleted in one of the additions is deleted."""
        if broker_id not in self._context.brokers:
            return
        states = self._stopped.setdefault(broker_id, {})
        known = states.get(partition)
        states[partition] = StopReplicaPartitionState(
            partition_index=partition.partition,
            leader_epoch=self._context.leader_epoch(partition),
            delete_partition=is_deleted or (known is not None and known.delete_partition),
        )

    def add_update_metadata(
        self, partitions: Iterable[TopicPartition], *, brokers: Iterable[int]
    ) -> None:
        """Add the metadata of partitions that have a leadership; without any, of the brokers."""
        self._update_recipients.update(brokers)
        self._updated.update(dict.fromkeys(partitions))

    def send(self) -> Flow[None]:
        """Send the requests."""
        requests = [*self._leader_and_isr(), *self._update_metadata(), *self._stop_replica()]
        self._leaderships, self._stopped, self._updated = {}, {}, {}
        self._update_recipients, self._has_leaderships = set(), False
        if requests:
            yield from perform(SendRequests(requests))

    def _leader_and_isr_state(
        self, partition: TopicPartition, leadership: Leadership, *, is_new: bool
    ) -> LeaderAndIsrPartitionState:
        assignment = self._context.assignment(partition)
        return LeaderAndIsrPartitionState(
            partition_index=partition.partition,
            controller_epoch=leadership.controller_epoch,
            leader=leadership.leader,
            leader_epoch=leadership.leader_epoch,
            isr=[*leadership.isr],
            partition_epoch=leadership.partition_epoch,
            replicas=[*assignment.replicas],
            adding_replicas=[*assignment.adding],
            removing_replicas=[*assignment.removing],
            is_new=is_new,
            leader_recovery_state=int(leadership.is_recovering),
        )

    def _metadata_state(
        self, partition: TopicPartition, leadership: Leadership
    ) -> UpdateMetadataPartitionState:
        context = self._context
        replicas = context.assignment(partition).replicas
        is_deleted = context.is_deletion_queued(partition)
        return UpdateMetadataPartitionState(
            partition_index=partition.partition,
            controller_epoch=leadership.controller_epoch,
            leader=LEADER_DURING_DELETE if is_deleted else leadership.leader,
            leader_epoch=0 if is_deleted else leadership.leader_epoch,
            isr=[*leadership.isr],
            zk_version=0 if is_deleted else leadership.partition_epoch,
            replicas=[*replicas],
            offline_replicas=context.offline_among(replicas, partition),
        )

    def _leader_and_isr(self) -> Iterator[BrokerRequest]:
        for broker, states in self._registered(self._leaderships):
            request = LeaderAndIsrRequest(
                controller_id=self._context.settings.controller_id,
                controller_epoch=self._context.epoch,
                broker_epoch=broker.epoch,
                topic_states=[
                    LeaderAndIsrTopicState(
                        topic_name=topic,
                        topic_id=self._context.topic_ids.get(topic, NO_UUID),
                        partition_states=found,
                    )
                    for topic, found in _by_topic(states).items()
                ],
                live_leaders=[*self._live_leaders({each.leader for each in states.values()})],
            )
            yield BrokerRequest(broker.broker_id, request, LEADER_AND_ISR_VERSION)

    def _live_leaders(self, leaders: set[int]) -> Iterator[LeaderAndIsrLiveLeader]:
        listener = self._context.settings.inter_broker_listener
        for broker in self._context.brokers.values():
            endpoint = broker.endpoint(listener) if broker.broker_id in leaders else None
            if endpoint is not None:
                yield LeaderAndIsrLiveLeader(
                    broker_id=broker.broker_id, host_name=endpoint.host, port=endpoint.port
                )

    def _update_metadata(self) -> Iterator[BrokerRequest]:
        if self._has_leaderships:
            self._update_recipients.update(self._context.brokers)
        if not self._update_recipients:
            return
        leaderships = self._context.leaderships
        updated = {
            each: self._metadata_state(each, leadership)
            for each in self._updated
            if (leadership := leaderships.get(each)) is not None
        }
        topic_states = [
            UpdateMetadataTopicState(
                topic_name=topic,
                topic_id=self._context.topic_ids.get(topic, NO_UUID),
                partition_states=found,
            )
            for topic, found in _by_topic(updated).items()
        ]
        live_brokers = [_metadata_broker(each) for each in self._context.brokers.values()]
        for broker_id, broker in self._context.brokers.items():
            if broker_id in self._update_recipients:
                request = UpdateMetadataRequest(
                    controller_id=self._context.settings.controller_id,
                    controller_epoch=self._context.epoch,
                    broker_epoch=broker.epoch,
                    topic_states=topic_states,
                    live_brokers=live_brokers,
                )
                yield BrokerRequest(broker_id, request, UPDATE_METADATA_VERSION)

    def _stop_replica(self) -> Iterator[BrokerRequest]:
        for broker, states in self._registered(self._stopped):
            request = StopReplicaRequest(
                controller_id=self._context.settings.controller_id,
                controller_epoch=self._context.epoch,
                broker_epoch=broker.epoch,
                topic_states=[
                    StopReplicaTopicState(topic_name=topic, partition_states=found)
                    for topic, found in _by_topic(states).items()
                ],
            )
            yield BrokerRequest(broker.broker_id, request, STOP_REPLICA_VERSION)

    def _registered(
        self, by_broker: Mapping[int, dict[TopicPartition, S]]
    ) -> Iterator[tuple[LiveBroker, dict[TopicPartition, S]]]:
        for broker_id, states in sorted(by_broker.items()):
            broker = self._context.brokers.get(broker_id)
            if broker is not None:
                yield broker, states


def send_metadata(
    context: ClusterContext, *, brokers: Iterable[int], partitions: Iterable[TopicPartition] = ()
) -> Flow[None]:
    """Send the metadata of partitions, and of all live brokers, to these brokers."""
    batch = BrokerRequestBatch(context)
    batch.add_update_metadata(partitions, brokers=brokers)
    yield from batch.send()


def _by_topic(states: Mapping[TopicPartition, S]) -> dict[str, list[S]]:
    topics: dict[str, list[S]] = {}
    for partition, state in states.items():
        topics.setdefault(partition.topic, []).append(state)
    return topics


def _metadata_broker(broker: LiveBroker) -> UpdateMetadataBroker:
    return UpdateMetadataBroker(
        id=broker.broker_id,
        endpoints=[
            UpdateMetadataEndpoint(
                port=each.port,
                host=each.host,
                listener=each.listener,
                security_protocol=each.security_protocol,
            )
            for each in broker.endpoints
        ],
        rack=broker.rack,
    )
