"""Partitions as users name them, pairs of a topic and a number, and as requests do, by topic."""

from collections.abc import Iterable

from cordwood.core.errors import InvalidRequestError
from cordwood.core.types import PartitionId, TopicName, TopicPartition


def partitions_of(pairs: Iterable[tuple[str, int]]) -> list[TopicPartition]:
    """Return pairs as partitions; InvalidRequestError for a text, a topic's name say."""
    return [_partition_of(pair) for pair in pairs]


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    """Return partitions by their topics."""
    topics: dict[str, list[TopicPartition]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition)
    return topics


def _partition_of(pair: tuple[str, int]) -> TopicPartition:
    if isinstance(pair, str):
        raise InvalidRequestError(
            f"{pair!r} is no partition; give a list of pairs, [('orders', 0)] say"
        )
    topic, number = pair
    return TopicPartition(TopicName(topic), PartitionId(number))
