"""Partitions of a request that exist, by the topics of the cluster (Kafka: `KafkaApis`).

    topic by name   unknown name UNKNOWN_TOPIC_OR_PARTITION
    topic by id     unknown id UNKNOWN_TOPIC_ID
    partition       not in the topic UNKNOWN_TOPIC_OR_PARTITION

These checks precede those of the group: a request without an existing partition never reaches it.
"""

from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from cordwood.coordination.offsets.partition_results import PartitionResults
from cordwood.coordination.topic_view import TopicView
from cordwood.core.errors import UnknownTopicIdError, UnknownTopicOrPartitionError
from cordwood.core.uuids import Uuid


class RequestPartition(Protocol):
    """A partition of any of the requests about offsets."""

    @property
    def partition_index(self) -> int:
        """The number of the partition."""


P = TypeVar("P", bound=RequestPartition)
P_co = TypeVar("P_co", bound=RequestPartition, covariant=True)


class NamedTopic(Protocol[P_co]):
    """A topic of a request, by name."""

    @property
    def name(self) -> str:
        """The name of the topic."""

    @property
    def partitions(self) -> Sequence[P_co]:
        """The partitions of the topic."""


class IdentifiedTopic(Protocol[P_co]):
    """A topic of a request, by id."""

    @property
    def topic_id(self) -> Uuid:
        """The id of the topic."""

    @property
    def partitions(self) -> Sequence[P_co]:
        """The partitions of the topic."""


class KnownTopic(NamedTuple, Generic[P]):
    """A topic of a request with its existing partitions."""

    name: str
    topic_id: Uuid
    partitions: list[P]

    @property
    def numbers(self) -> list[int]:
        """The numbers of the partitions."""
        return [each.partition_index for each in self.partitions]


def known_by_name(
    topics: Iterable[NamedTopic[P]], view: TopicView, *, results: PartitionResults
) -> list[KnownTopic[P]]:
    """Return the existing partitions of topics by name; reject the others in `results`."""
    known: list[KnownTopic[P]] = []
    for topic in topics:
        facts = view.by_name(topic.name)
        if facts is None:
            numbers = [each.partition_index for each in topic.partitions]
            results.reject(topic.name, numbers, error_code=UnknownTopicOrPartitionError.code)
            continue
        named = KnownTopic(facts.name, facts.topic_id, list(topic.partitions))
        known += _existing(named, facts.partitions, results=results)
    return known


def known_by_id(
    topics: Iterable[IdentifiedTopic[P]], view: TopicView, *, results: PartitionResults
) -> list[KnownTopic[P]]:
    """Return the existing partitions of topics by id; reject the others in `results`."""
    known: list[KnownTopic[P]] = []
    for topic in topics:
        facts = view.by_id(topic.topic_id)
        if facts is None:
            numbers = [each.partition_index for each in topic.partitions]
            code = UnknownTopicIdError.code
            results.reject("", numbers, error_code=code, topic_id=topic.topic_id)
            continue
        named = KnownTopic(facts.name, facts.topic_id, list(topic.partitions))
        known += _existing(named, facts.partitions, results=results)
    return known


def _existing(
    topic: KnownTopic[P], count: int, *, results: PartitionResults
) -> list[KnownTopic[P]]:
    if len(topic.partitions) == 1 and 0 <= topic.partitions[0].partition_index < count:
        return [topic]
    numbers = topic.numbers
    if not numbers or (min(numbers) >= 0 and max(numbers) < count):
        return [topic] if numbers else []
    missing = [each for each in numbers if not 0 <= each < count]
    code = UnknownTopicOrPartitionError.code
    results.reject(topic.name, missing, error_code=code, topic_id=topic.topic_id)
    found = [each for each in topic.partitions if 0 <= each.partition_index < count]
    return [topic._replace(partitions=found)] if found else []
