"""Partitions by topic id, with the epochs of their assignment (Kafka: `Assignment`).

Values are never changed in place: members share them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from cordwood.coordination.groups.consumer.assignors.group_spec import (
    TopicPartitionSets,
    in_topic_order,
)
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.consumer_group_heartbeat import Assignment, TopicPartitions
from cordwood.protocol.messages.internal import OwnedPartitions, TargetPartitions

PartitionEpochs: TypeAlias = Mapping[int, int]
"""Assignment epochs by partition."""

TopicPartitionEpochs: TypeAlias = Mapping[Uuid, PartitionEpochs]
"""Assignment epochs by topic id and partition, without topics that have none."""

NO_PARTITION_EPOCHS: Final[TopicPartitionEpochs] = {}
_NO_EPOCHS: Final[PartitionEpochs] = {}


class OwnedByClient(Protocol):
    """The partitions that a client owns; a topic may come several times."""

    def __len__(self) -> int:
        """Return the number of topics."""

    def items(self) -> Iterable[tuple[Uuid, Collection[int]]]:
        """Return topic ids with partitions."""


class ReportedPartitions:
    """The partitions of a heartbeat as they came.

    A heartbeat reports up to 50,000 of them, and few heartbeats need them: they are in no set.
    """

    __slots__ = ("_topics",)

    def __init__(self, topics: Sequence[TopicPartitions]) -> None:
        self._topics = topics

    def __len__(self) -> int:
        return len(self._topics)

    def items(self) -> Iterator[tuple[Uuid, Collection[int]]]:
        return ((each.topic_id, each.partitions) for each in self._topics)


def to_response(partitions: TopicPartitionEpochs) -> Assignment:
    """Return the assignment of a heartbeat's response."""
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=sorted(partitions[topic_id]))
            for topic_id in in_topic_order(partitions)
        ]
    )


def from_target_record(topics: Iterable[TargetPartitions]) -> TopicPartitionSets:
    """Return the partitions of a record of a target assignment."""
    return {each.topic_id: frozenset(each.partitions) for each in topics if each.partitions}


def to_target_record(partitions: TopicPartitionSets) -> list[TargetPartitions]:
    """Return the partitions for a record of a target assignment."""
    return [
        TargetPartitions(topic_id=topic_id, partitions=sorted(partitions[topic_id]))
        for topic_id in in_topic_order(partitions)
    ]


def from_owned_record(
    topics: Iterable[OwnedPartitions], *, member_epoch: int
) -> TopicPartitionEpochs:
    """Return the partitions of a record of a current assignment.

    Kafka wrote no assignment epochs before 4.3. The member epoch takes their place.
    """
    found = dict[Uuid, PartitionEpochs]()
    for each in topics:
        epochs = each.assignment_epochs or []
        if len(epochs) != len(each.partitions):
            epochs = [max(member_epoch, 0)] * len(each.partitions)
        if each.partitions:
            found[each.topic_id] = dict(zip(each.partitions, epochs, strict=True))
    return found


def to_owned_record(partitions: TopicPartitionEpochs) -> list[OwnedPartitions]:
    """Return the partitions for a record of a current assignment."""
    return [_to_owned(topic_id, partitions[topic_id]) for topic_id in in_topic_order(partitions)]


def _to_owned(topic_id: Uuid, epochs: PartitionEpochs) -> OwnedPartitions:
    numbers = sorted(epochs)
    return OwnedPartitions(
        topic_id=topic_id,
        partitions=numbers,
        assignment_epochs=[epochs[each] for each in numbers],
    )


def with_epoch(partitions: TopicPartitionSets, epoch: int) -> TopicPartitionEpochs:
    """Return the partitions as assigned in one epoch."""
    return {topic_id: dict.fromkeys(each, epoch) for topic_id, each in partitions.items()}


def without_epochs(partitions: TopicPartitionEpochs) -> TopicPartitionSets:
    """Return the partitions alone."""
    return {topic_id: frozenset(each) for topic_id, each in partitions.items()}


def contains_any(partitions: TopicPartitionEpochs, owned: OwnedByClient | None) -> bool:
    """Return whether a client owns one of the partitions; unknown ownership (None) may be any."""
    if owned is None:
        return True
    return any(
        topic_id in partitions and not partitions[topic_id].keys().isdisjoint(each)
        for topic_id, each in owned.items()
    )


def contains_all(partitions: TopicPartitionEpochs, owned: OwnedByClient | None) -> bool:
    """Return whether all that a client owns is among the partitions; None is not."""
    if owned is None:
        return False
    return all(
        partitions.get(topic_id, _NO_EPOCHS).keys() >= frozenset(each)
        for topic_id, each in owned.items()
    )
