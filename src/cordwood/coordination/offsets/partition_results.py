"""Errors of a request by topic and partition (Kafka: `OffsetCommitResponse.Builder`).

The partitions that are rejected before the group is asked come first in a response. The others
follow; if their topic is among the first ones they are added to it.
"""

from collections.abc import Iterable
from typing import NamedTuple

from cordwood.core.uuids import NO_UUID, Uuid


class PartitionResult(NamedTuple):
    """The result of one partition; code 0 is success."""

    partition: int
    error_code: int


class TopicResult(NamedTuple):
    """The results of one topic."""

    name: str
    topic_id: Uuid
    partitions: list[PartitionResult]

    @property
    def key(self) -> tuple[str, Uuid]:
        """The identity of the topic in one response."""
        return self.name, self.topic_id


class PartitionResults:
    """The results of a request in the order of its response."""

    def __init__(self) -> None:
        self._topics: dict[tuple[str, Uuid], TopicResult] = {}

    def reject(
        self, name: str, partitions: Iterable[int], *, error_code: int, topic_id: Uuid = NO_UUID
    ) -> None:
        """Add partitions with an error."""
        topic = self._topics.setdefault((name, topic_id), TopicResult(name, topic_id, []))
        topic.partitions.extend(PartitionResult(each, error_code) for each in partitions)

    def followed_by(self, topics: list[TopicResult]) -> list[TopicResult]:
        """Return all results: first those that were added, then the given ones."""
        if not self._topics:
            return topics
        merged = dict(self._topics)
        for topic in topics:
            first = merged.setdefault(topic.key, topic)
            if first is not topic:
                first.partitions.extend(topic.partitions)
        return list(merged.values())
