"""The cluster as it is known here, as values that never change: who changes it makes another one.

Readers keep an image for as long as they need it and see one state of the cluster. The epoch tells
images of one broker apart, and which is the later one.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, NamedTuple, Self, TypeVar

from cordwood.broker.internal_topics import INTERNAL_TOPICS
from cordwood.broker.listeners import Endpoint
from cordwood.core.errors import LeaderNotAvailableError
from cordwood.core.ids import Uuid
from cordwood.core.types import PartitionId, TopicName, TopicPartition

T = TypeVar("T")

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

    @classmethod
    def new(cls, name: str, topic_id: Uuid, *, replicas: Sequence[tuple[int, ...]]) -> Self:
        """Return a topic that nobody has led yet, with the replicas of each of its partitions."""
        by_replicas = {each: PartitionImage.new(each) for each in {*replicas}}
        return cls(name, topic_id, tuple(by_replicas[each] for each in replicas))

    def without_leaders(self, lost: Iterable[TopicPartition]) -> "TopicImage":
        """Return the topic as it is when nobody leads those of its partitions that are lost.

        A topic that grows has logs of partitions that are not known here yet.
        """
        partitions = list(self.partitions)
        for name in lost:
            if name.topic == self.name and name.partition < len(partitions):
                partition = partitions[name.partition]
                partitions[name.partition] = partition._replace(leader=NO_LEADER)
        return replace(self, partitions=(*partitions,))

    def with_leaders(self, led: Iterable[TopicPartition]) -> "TopicImage":
        """Return the topic as it is when these partitions are led, by their first replicas."""
        partitions = list(self.partitions)
        for name in led:
            partition = partitions[name.partition]
            partitions[name.partition] = partition._replace(leader=partition.replicas[0])
        return replace(self, partitions=(*partitions,))

    def leaderless(self) -> list[TopicPartition]:
        """Return the partitions that nobody leads."""
        return [
            TopicPartition(TopicName(self.name), PartitionId(index))
            for index, each in enumerate(self.partitions)
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
    #: The partitions that nobody leads, by their topic's name, of those topics that have such.
    leaderless: Mapping[str, Sequence[TopicPartition]] = field(default_factory=dict)
    epoch: int = 0

    def reached_by(self, listener: str) -> Iterator[tuple[BrokerImage, Endpoint]]:
        """Yield the brokers that have a listener, with where it is."""
        for broker in self.brokers.values():
            endpoint = broker.endpoints.get(listener)
            if endpoint is not None:
                yield broker, endpoint

    def with_topic(self, *topics: TopicImage) -> "ClusterImage":
        """Return the next image, in which these topics are as they are here."""
        leaderless = _without(self.leaderless, [topic.name for topic in topics])
        leaderless |= {topic.name: found for topic in topics if (found := topic.leaderless())}
        return self._next({**self.topics, **{topic.name: topic for topic in topics}}, leaderless)

    def without_topic(self, *names: str) -> "ClusterImage":
        """Return the next image, which lacks these topics."""
        return self._next(_without(self.topics, names), _without(self.leaderless, names))

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


def _without(those: Mapping[str, T], names: Container[str]) -> dict[str, T]:
    return {name: each for name, each in those.items() if name not in names}
