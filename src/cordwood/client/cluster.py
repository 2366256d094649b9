"""The cluster as a client knows it: brokers, topics, and who leads which partition.

A snapshot is never changed; what a broker answers makes a new one. An answer may be older than what
is known, since each broker learns by itself: of a partition the higher leader epoch counts, as long
as the topic is the same by its id.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, NamedTuple

from cordwood.core.address import Address
from cordwood.core.ids import NO_UUID, Uuid
from cordwood.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

NO_NODE: Final = -1


class PartitionState(NamedTuple):
    """Who leads a partition, since when, and who has it."""

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...] = ()
    in_sync: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()


class TopicState(NamedTuple):
    """A topic's partitions by number; an error where a broker could not tell of it."""

    name: str
    topic_id: Uuid
    partitions: Mapping[int, PartitionState]
    is_internal: bool = False
    error_code: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """One snapshot."""

    cluster_id: str | None = None
    controller_id: int = NO_NODE
    brokers: Mapping[int, Address] = field(default_factory=dict)
    racks: Mapping[int, str | None] = field(default_factory=dict)
    topics: Mapping[str, TopicState] = field(default_factory=dict)

    def partition(self, topic: str, number: int) -> PartitionState | None:
        """Return what is known of a partition."""
        state = self.topics.get(topic)
        return None if state is None else state.partitions.get(number)

    def leader_of(self, topic: str, number: int) -> int | None:
        """Return a partition's leader, if it is known and can be reached."""
        state = self.partition(topic, number)
        return state.leader if state is not None and state.leader in self.brokers else None

    def topic_id(self, topic: str) -> Uuid:
        """Return a topic's id; NO_UUID if it is not known."""
        state = self.topics.get(topic)
        return NO_UUID if state is None else state.topic_id

    def names_by_id(self) -> Mapping[Uuid, str]:
        """Return the topics that have ids."""
        return {
            state.topic_id: name for name, state in self.topics.items() if state.topic_id != NO_UUID
        }

    def updated(self, answer: MetadataResponse) -> "Cluster":
        """Return the snapshot that an answer makes of this one."""
        told = {topic.name: topic for topic in answer.topics if topic.name is not None}
        fresh = {name: self._updated_topic(name, topic) for name, topic in told.items()}
        return Cluster(
            cluster_id=answer.cluster_id,
            controller_id=answer.controller_id,
            brokers=MappingProxyType(
                {each.node_id: Address(each.host, each.port) for each in answer.brokers}
            ),
            racks=MappingProxyType({each.node_id: each.rack for each in answer.brokers}),
            topics=MappingProxyType({**self.topics, **fresh}),
        )

    def without(self, topic: str) -> "Cluster":
        """Return the snapshot that knows nothing of a topic."""
        topics = {name: state for name, state in self.topics.items() if name != topic}
        return replace(self, topics=MappingProxyType(topics))

    def with_leader(
        self, topic: str, number: int, *, leader: int, leader_epoch: int, address: Address | None
    ) -> "Cluster":
        """Return the snapshot in which a partition has a leader that a broker has named."""
        state = self.topics.get(topic)
        known = self.partition(topic, number)
        is_new = known is not None and leader_epoch > known.leader_epoch
        if state is None or known is None or not is_new or (leader, address) == (NO_NODE, None):
            return self
        changed = known._replace(leader=leader, leader_epoch=leader_epoch)
        partitions = MappingProxyType({**state.partitions, number: changed})
        brokers = self.brokers if address is None else {**self.brokers, leader: address}
        return replace(
            self,
            brokers=MappingProxyType(dict(brokers)),
            topics=MappingProxyType({**self.topics, topic: state._replace(partitions=partitions)}),
        )

    def _updated_topic(self, name: str, topic: MetadataResponseTopic) -> TopicState:
        known = self.topics.get(name)
        is_same = known is not None and known.topic_id == topic.topic_id
        before = known.partitions if known is not None and is_same else {}
        partitions = {
            each.partition_index: _newer(before.get(each.partition_index), each)
            for each in topic.partitions
        }
        return TopicState(
            name, topic.topic_id, MappingProxyType(partitions), topic.is_internal, topic.error_code
        )


def _newer(known: PartitionState | None, told: MetadataResponsePartition) -> PartitionState:
    if known is not None and known.leader_epoch > told.leader_epoch >= 0:
        return known
    return PartitionState(
        told.leader_id,
        told.leader_epoch,
        tuple(told.replica_nodes),
        tuple(told.isr_nodes),
        tuple(told.offline_replicas),
    )
