"""Throttled replicas of one side of replication, and their rate (Kafka: `ReplicationQuotaManager`).

    leader      the records that this broker sends to followers
    follower    the records that this broker receives from leaders
    log dirs    the records that are copied between log directories of this broker

A replica is throttled if a reassignment has listed it, the rate is above its limit, and the replica
is not in sync. The records of listed replicas that are in sync count too, so that the limit is one
for all traffic of the listed replicas. Bytes are counted after they were allowed: one response may
exceed the limit, and the next ones wait for it.
"""

from collections.abc import Callable, Collection
from typing import Final

from cordwood.cluster.partition.simple_rate import SimpleRate
from cordwood.core.binary import INT64_MAX
from cordwood.core.types import TopicPartition

#: All partitions of a topic.
ALL_PARTITIONS: Final = None


class ReplicationQuotaManager:
    """The limit of one side; without a list of replicas nothing is throttled."""

    __slots__ = ("_now_ms", "_rate", "_throttled", "limit")

    def __init__(self, now_ms: Callable[[], float], *, windows: int, window_ms: float) -> None:
        self._now_ms: Final = now_ms
        self._rate: Final = SimpleRate(windows=windows, window_ms=window_ms)
        #: The throttled partitions of a topic.
        self._throttled: dict[str, frozenset[int] | None] = {}
        #: Bytes per second.
        self.limit = INT64_MAX

    def throttle(self, topic: str, partitions: Collection[int] | None) -> None:
        """Throttle these partitions of a topic and no other ones of it."""
        self._throttled[topic] = None if partitions is None else frozenset(partitions)

    def remove_throttle(self, topic: str) -> None:
        """Throttle no partition of a topic."""
        self._throttled.pop(topic, None)

    def is_listed(self, partition: TopicPartition) -> bool:
        """Return whether the bytes of a partition count (Kafka: `isThrottled`)."""
        if partition.topic not in self._throttled:
            return False
        partitions = self._throttled[partition.topic]
        return partitions is ALL_PARTITIONS or partition.partition in partitions

    @property
    def is_exceeded(self) -> bool:
        """Whether the rate is above the limit now."""
        return self.rate > self.limit

    @property
    def rate(self) -> float:
        """The bytes per second over the windows."""
        return self._rate.measure(now_ms=self._now_ms())

    def is_throttled(self, partition: TopicPartition, *, is_in_sync: bool) -> bool:
        """Return whether the records of a replica must wait."""
        return not is_in_sync and self.is_listed(partition) and self.is_exceeded

    def record(self, count: int) -> None:
        """Count bytes, also above the limit."""
        self._rate.record(count, now_ms=self._now_ms())
