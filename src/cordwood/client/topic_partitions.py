"""Conversions between (topic, number) pairs, `TopicPartition` values and partitions grouped by
topic.

Users name a partition by a pair. Requests group partitions by topic.
"""

from collections.abc import Iterable

from cordwood.core.errors import InvalidRequestError
from cordwood.core.types import PartitionId, TopicName, TopicPartition


def partitions_of(pairs: Iterable[tuple[str, int]]) -> list[TopicPartition]:
    """Return the pairs as partitions; InvalidRequestError for a string, such as a topic name."""
    return [_partition_of(pair) for pair in pairs]


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    """Group partitions by topic."""
    topics: dict[str, list[TopicPartition]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition)
    return topics


def _partition_of(pair: tuple[str, int]) -> TopicPartition:
    if isinstance(pair, str):
        raise InvalidRequestError(
            f"{pair!r} is not a partition; give a list of pairs, such as [('orders', 0)]"
        )
    topic, number = pair
    return TopicPartition(TopicName(topic), PartitionId(number))
