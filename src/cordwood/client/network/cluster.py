"""Snapshot of the cluster's metadata (Java: `Cluster`, `MetadataSnapshot`).

A snapshot is immutable; each metadata response creates the next one. A response may be older than
the snapshot, because each broker updates its metadata cache independently:

    higher or equal leader epoch   replaces the known leadership
    another topic id               replaces it: the topic was recreated, its epochs begin again
    the id of a replaced topic     is ignored: ids do not return. Java takes it for another topic
    lower leader epoch             is ignored, as in Java; but after LOWER_ANSWERS of them, each
                                   after a leader has rejected the known leadership, it replaces it

The id of a replaced topic counts again after LOWER_ANSWERS of them in a row.

The last rule ends the retries of a client whose cluster has lost its metadata, or has restored
older ones. The leader itself rejects the known epoch as unknown then, or there was no leader. Other
rejections do not count: a leader may be down, or has just started. A former leader that does not
know of its end may then name its own epoch, and its log lacks later records. A produce request has
no epoch, so each rejection of it counts.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, NamedTuple

from cordwood.core.address import Address
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

NO_NODE: Final = -1
#: A broker that is only late catches up before the client has asked so often, with its backoff.
LOWER_ANSWERS: Final = 5

_NONE: Final[Container[tuple[str, int]]] = frozenset()


class PartitionInfo(NamedTuple):
    """Leader, leader epoch and replicas of a partition (Java: `PartitionInfo`).

    `lower_answers` counts the lower leader epochs received since a leader rejected this one.
    """

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...] = ()
    in_sync: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()
    lower_answers: int = 0


class TopicInfo(NamedTuple):
    """Partitions of a topic by number, or the broker's error code for the topic.

    `former` are the partitions before the error, for their leader epochs. A broker that has just
    started knows no topics; the next broker asked may have a lower epoch. `replaced` has the ids of
    the topics that had the name before, and `replaced_answers` counts their answers in a row.
    """

    name: str
    topic_id: Uuid
    partitions: Mapping[int, PartitionInfo]
    is_internal: bool = False
    error_code: int = 0
    former: "TopicInfo | None" = None
    replaced: frozenset[Uuid] = frozenset()
    replaced_answers: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """One immutable snapshot."""

    cluster_id: str | None = None
    controller_id: int = NO_NODE
    brokers: Mapping[int, Address] = field(default_factory=dict)
    racks: Mapping[int, str | None] = field(default_factory=dict)
    topics: Mapping[str, TopicInfo] = field(default_factory=dict)

    def partition(self, topic: str, number: int) -> PartitionInfo | None:
        """Return the metadata of a partition, None if unknown."""
        state = self.topics.get(topic)
        return None if state is None else state.partitions.get(number)

    def leader_of(self, topic: str, number: int) -> int | None:
        """Return a partition's leader if it is known and its address is known."""
        state = self.partition(topic, number)
        return state.leader if state is not None and state.leader in self.brokers else None

    def topic_id(self, topic: str) -> Uuid:
        """Return a topic's id; NO_UUID if it is unknown."""
        state = self.topics.get(topic)
        return NO_UUID if state is None else state.topic_id

    def names_by_id(self) -> Mapping[Uuid, str]:
        """Return the names of the topics that have ids."""
        return {
            state.topic_id: name for name, state in self.topics.items() if state.topic_id != NO_UUID
        }

    def updated(
        self, response: MetadataResponse, *, rejected: Container[tuple[str, int]] = _NONE
    ) -> "Cluster":
        """Return this snapshot merged with a metadata response.

        `rejected` has the partitions whose leader has rejected the known leadership since.
        """
        received = {topic.name: topic for topic in response.topics if topic.name is not None}
        fresh = {
            name: self._updated_topic(name, topic, rejected) for name, topic in received.items()
        }
        return Cluster(
            cluster_id=response.cluster_id,
            controller_id=response.controller_id,
            brokers=MappingProxyType(
                {each.node_id: Address(each.host, each.port) for each in response.brokers}
            ),
            racks=MappingProxyType({each.node_id: each.rack for each in response.brokers}),
            topics=MappingProxyType({**self.topics, **fresh}),
        )

    def only(self, names: Container[str]) -> "Cluster":
        """Return this snapshot with these topics alone."""
        topics = {name: state for name, state in self.topics.items() if name in names}
        return replace(self, topics=MappingProxyType(topics))

    def with_leader(
        self, topic: str, number: int, *, leader: int, leader_epoch: int, address: Address | None
    ) -> "Cluster":
        """Return this snapshot with a newer leader for a partition, as a broker reported it."""
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

    def _updated_topic(
        self, name: str, topic: MetadataResponseTopic, rejected: Container[tuple[str, int]]
    ) -> TopicInfo:
        known = self.topics.get(name)
        if known is not None and known.error_code:
            known = known.former
        if topic.error_code and not topic.partitions:
            has_id = known is not None and known.topic_id != NO_UUID
            former = known if has_id else None  # without ids another topic may have the name
            return TopicInfo(name, topic.topic_id, {}, topic.is_internal, topic.error_code, former)
        if known is not None and topic.topic_id in known.replaced:
            answers = known.replaced_answers + 1
            if answers < LOWER_ANSWERS:
                return known._replace(replaced_answers=answers)
        is_same = known is not None and known.topic_id == topic.topic_id
        before = known.partitions if known is not None and is_same else {}
        partitions = {
            each.partition_index: _newer(
                before.get(each.partition_index),
                each,
                is_rejected=(name, each.partition_index) in rejected,
            )
            for each in topic.partitions
        }
        return TopicInfo(
            name,
            topic.topic_id,
            MappingProxyType(partitions),
            topic.is_internal,
            topic.error_code,
            replaced=_replaced(known, topic.topic_id),
        )


def _replaced(known: TopicInfo | None, topic_id: Uuid) -> frozenset[Uuid]:
    """Return the ids of the topics that had the name before the one with this id."""
    if known is None:
        return frozenset()
    return known.replaced.union({known.topic_id}).difference({topic_id, NO_UUID})


def _newer(
    known: PartitionInfo | None, received: MetadataResponsePartition, *, is_rejected: bool
) -> PartitionInfo:
    if known is not None and known.leader_epoch > received.leader_epoch >= 0:
        lower_answers = known.lower_answers + is_rejected
        if lower_answers < LOWER_ANSWERS:
            return known._replace(lower_answers=lower_answers)
    return PartitionInfo(
        received.leader_id,
        received.leader_epoch,
        tuple(received.replica_nodes),
        tuple(received.isr_nodes),
        tuple(received.offline_replicas),
    )
