"""The cluster as it is known here, as values that never change: who changes it makes another one.

Readers keep an image for as long as they need it and see one state of the cluster. The epoch tells
images of one broker apart, and which is the later one.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, NamedTuple, Self

from cordwood.broker.internal_topics import INTERNAL_TOPICS
from cordwood.broker.listeners import Endpoint
from cordwood.core.errors import LeaderNotAvailableError
from cordwood.core.ids import Uuid
from cordwood.core.types import PartitionId, TopicName, TopicPartition

#: What a partition has for its leader while it has none.
NO_LEADER: Final = -1


class PartitionImage(NamedTuple):
    """Who has a partition, who of them keeps up, and who leads since when."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int

    @classmethod
    def new(cls, replicas: Iterable[int]) -> Self:
        """Return a partition that nobody has led yet: the first of its replicas does."""
        nodes = (*replicas,)
        return cls(nodes, nodes, nodes[0], 0)

    @property
    def offline_replicas(self) -> tuple[int, ...]:
        """Those who have it and cannot serve it: where nobody leads it that is all of them."""
        return self.replicas if self.leader == NO_LEADER else ()

    @property
    def error_code(self) -> int:
        """What clients are told beside its leader."""
        return LeaderNotAvailableError.code if self.leader == NO_LEADER else 0


@dataclass(frozen=True, slots=True)
class TopicImage:
    """A topic; its partitions are numbered from 0 on."""

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
        """Yield what its partitions are called."""
        for index in range(len(self.partitions)):
            yield TopicPartition(TopicName(self.name), PartitionId(index))

    def without_leaders(self, lost: Container[TopicPartition]) -> "TopicImage":
        """Return the topic as it is when nobody leads those of its partitions that are lost."""
        partitions = (
            each._replace(leader=NO_LEADER) if name in lost else each
            for name, each in zip(self.names(), self.partitions, strict=True)
        )
        return replace(self, partitions=(*partitions,))

    def with_leaders(self, led: Container[TopicPartition]) -> "TopicImage":
        """Return the topic as it is when partitions are led, by the first of their replicas."""
        partitions = (
            each._replace(leader=each.replicas[0]) if name in led else each
            for name, each in zip(self.names(), self.partitions, strict=True)
        )
        return replace(self, partitions=(*partitions,))

    def leaderless(self) -> list[TopicPartition]:
        """Return the partitions that nobody leads."""
        return [
            name
            for name, each in zip(self.names(), self.partitions, strict=True)
            if each.leader == NO_LEADER
        ]


@dataclass(frozen=True, slots=True)
class BrokerImage:
    """A broker: where it is reached, by the listener's name."""

    node_id: int
    endpoints: Mapping[str, Endpoint]
    rack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterImage:
    """All of it at one time."""

    cluster_id: str
    controller_id: int
    brokers: Mapping[int, BrokerImage]
    topics: Mapping[str, TopicImage] = field(default_factory=dict)
    topics_by_id: Mapping[Uuid, TopicImage] = field(default_factory=dict, repr=False)
    epoch: int = 0

    def reached_by(self, listener: str) -> Iterator[tuple[BrokerImage, Endpoint]]:
        """Yield the brokers that have a listener, with where it is."""
        for broker in self.brokers.values():
            endpoint = broker.endpoints.get(listener)
            if endpoint is not None:
                yield broker, endpoint

    def with_topic(self, *topics: TopicImage) -> "ClusterImage":
        """Return the next image, in which these topics are as they are here."""
        return self._next({**self.topics, **{topic.name: topic for topic in topics}})

    def without_topic(self, *names: str) -> "ClusterImage":
        """Return the next image, which lacks these topics."""
        return self._next({name: self.topics[name] for name in self.topics if name not in names})

    def _next(self, topics: dict[str, TopicImage]) -> "ClusterImage":
        return replace(
            self,
            topics=MappingProxyType(topics),
            topics_by_id=MappingProxyType({each.topic_id: each for each in topics.values()}),
            epoch=self.epoch + 1,
        )
