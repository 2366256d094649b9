"""Immutable image of the cluster (Kafka: `MetadataImage`).

A change makes a new image. A reader that keeps an image sees one state of the cluster. The epoch
orders the images of one broker.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, NamedTuple, Self, TypeVar

from cordwood.broker.config.listeners import ListenerEndpoint
from cordwood.core.errors import LeaderNotAvailableError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid

T = TypeVar("T")

#: Topics that only brokers write to. Clients may read and configure them.
INTERNAL_TOPICS: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state"}
)

#: The leader of a partition without a leader, and the controller of a cluster without one.
NO_LEADER: Final = -1


class PartitionImage(NamedTuple):
    """A partition's replicas, in-sync replicas, leader and leader epoch.

    The partition epoch orders the states of one leader epoch; without a controller it is 0. `lost`
    has the replicas whose broker or log directory is offline, as far as the controller knows.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int = 0
    lost: tuple[int, ...] = ()

    @classmethod
    def new(cls, replicas: Iterable[int]) -> Self:
        """Return a new partition, led by its first replica."""
        nodes = (*replicas,)
        return cls(nodes, nodes, nodes[0], 0)

    @property
    def offline_replicas(self) -> tuple[int, ...]:
        """The lost replicas; all of them if the partition has no leader."""
        return self.lost or (self.replicas if self.leader == NO_LEADER else ())

    @property
    def error_code(self) -> int:
        """The error code next to the leader in a response."""
        return LeaderNotAvailableError.code if self.leader == NO_LEADER else 0


@dataclass(frozen=True, slots=True)
class TopicImage:
    """A topic and its partitions, numbered from 0."""

    name: str
    topic_id: Uuid
    partitions: tuple[PartitionImage, ...]

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS

    @property
    def replication_factor(self) -> int:
        return len(self.partitions[0].replicas)

    def names(self) -> Iterator[TopicPartition]:
        """Yield the names of its partitions."""
        for index in range(len(self.partitions)):
            yield TopicPartition(TopicName(self.name), PartitionId(index))

    @classmethod
    def new(cls, name: str, topic_id: Uuid, *, replicas: Sequence[tuple[int, ...]]) -> Self:
        """Return a new topic, given the replicas of each of its partitions."""
        by_replicas = {each: PartitionImage.new(each) for each in {*replicas}}
        return cls(name, topic_id, tuple(by_replicas[each] for each in replicas))

    def without_leaders(self, lost: Iterable[TopicPartition]) -> "TopicImage":
        """Return the topic without leaders for those of its partitions that are lost."""
        partitions = list(self.partitions)
        for name in lost:
            # While a topic grows, partitions beyond this image have logs already.
            if name.topic == self.name and name.partition < len(partitions):
                partition = partitions[name.partition]
                partitions[name.partition] = partition._replace(leader=NO_LEADER)
        return replace(self, partitions=(*partitions,))

    def with_leaders(self, led: Iterable[TopicPartition]) -> "TopicImage":
        """Return the topic with these partitions led by their first replicas, in the next epoch."""
        partitions = list(self.partitions)
        for name in led:
            partition = partitions[name.partition]
            partitions[name.partition] = partition._replace(
                leader=partition.replicas[0], leader_epoch=partition.leader_epoch + 1
            )
        return replace(self, partitions=(*partitions,))

    def leaderless(self) -> list[TopicPartition]:
        """Return the partitions without a leader."""
        return [
            TopicPartition(TopicName(self.name), PartitionId(index))
            for index, each in enumerate(self.partitions)
            if each.leader == NO_LEADER
        ]


@dataclass(frozen=True, slots=True)
class BrokerImage:
    """A broker with its endpoints by listener name."""

    node_id: int
    endpoints: Mapping[str, ListenerEndpoint]
    rack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterImage:
    """All brokers and topics at one epoch."""

    cluster_id: str
    controller_id: int
    brokers: Mapping[int, BrokerImage]
    topics: Mapping[str, TopicImage] = field(default_factory=dict)
    topics_by_id: Mapping[Uuid, TopicImage] = field(default_factory=dict, repr=False)
    #: The partitions without a leader, by topic name; topics that have none are left out.
    leaderless: Mapping[str, Sequence[TopicPartition]] = field(default_factory=dict)
    epoch: int = 0

    def endpoints_of(self, listener: str) -> Iterator[tuple[BrokerImage, ListenerEndpoint]]:
        """Yield the brokers that have this listener, with its endpoint."""
        for broker in self.brokers.values():
            endpoint = broker.endpoints.get(listener)
            if endpoint is not None:
                yield broker, endpoint

    def with_topic(self, *topics: TopicImage) -> "ClusterImage":
        """Return the next image, in which these topics are added or replaced."""
        leaderless = _without(self.leaderless, {topic.name for topic in topics})
        leaderless |= {topic.name: found for topic in topics if (found := topic.leaderless())}
        return self._next({**self.topics, **{topic.name: topic for topic in topics}}, leaderless)

    def without_topic(self, *names: str) -> "ClusterImage":
        """Return the next image, in which these topics are removed."""
        removed = frozenset(names)
        return self._next(_without(self.topics, removed), _without(self.leaderless, removed))

    def _next(
        self, topics: dict[str, TopicImage], leaderless: dict[str, Sequence[TopicPartition]]
    ) -> "ClusterImage":
        return replace(
            self,
            topics=MappingProxyType(topics),
            topics_by_id=MappingProxyType({each.topic_id: each for each in topics.values()}),
            leaderless=MappingProxyType(leaderless),
            epoch=self.epoch + 1,
        )


def without_leaders(
    topics: Iterable[TopicImage], lost: Iterable[TopicPartition]
) -> list[TopicImage]:
    """Return topics without leaders for the partitions that are lost."""
    by_topic: dict[str, list[TopicPartition]] = {}
    for name in lost:
        by_topic.setdefault(name.topic, []).append(name)
    return [
        topic.without_leaders(by_topic[topic.name]) if topic.name in by_topic else topic
        for topic in topics
    ]


def _without(by_name: Mapping[str, T], names: AbstractSet[str]) -> dict[str, T]:
    return {name: each for name, each in by_name.items() if name not in names}
