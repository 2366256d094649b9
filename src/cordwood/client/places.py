"""Partitions as users name them, pairs of a topic and a number, and as requests do, by topic."""

from collections.abc import Iterable

from cordwood.core.types import PartitionId, TopicName, TopicPartition


def partitions_of(pairs: Iterable[tuple[str, int]]) -> list[TopicPartition]:
    """Return pairs as partitions."""
    return [TopicPartition(TopicName(topic), PartitionId(number)) for topic, number in pairs]


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    """Return partitions by their topics."""
    topics: dict[str, list[TopicPartition]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition)
    return topics
