"""Partitioners: functions that choose the partition of a record (Java: `Partitioner`).

    by_key        Kafka's default: murmur2 of the key, the same choice as Java's producer;
                  a record without a key goes to a sticky partition
    RoundRobin    one partition after the other, record by record

Any function of a key and a partition count is a partitioner. PartitionChoice calls it for each
record that names no partition.
"""

from collections.abc import Callable, Container
from itertools import count
from typing import TypeAlias

from cordwood.client.network.cluster import Cluster
from cordwood.client.producer.partition_queue import NewBatch, NewRecord
from cordwood.core.errors import InvalidRequestError
from cordwood.core.ports import Random
from cordwood.records.murmur2 import partition_of_key

Partitioner: TypeAlias = Callable[[bytes | None, int], int | None]
"""Takes a key and the partition count. None: the sticky partition of the topic."""


def by_key(key: bytes | None, partitions: int) -> int | None:
    """Return the partition of a key; None without a key."""
    return None if key is None else partition_of_key(key, partitions)


class RoundRobin:
    """Partitioner that cycles through the partitions and ignores the key."""

    def __init__(self) -> None:
        self._count = count()

    def __call__(self, key: bytes | None, partitions: int) -> int:  # noqa: ARG002 - a Partitioner
        """Return the next partition."""
        return next(self._count) % partitions


class StickyPartition:
    """Partition for records without a key (KIP-794: `BuiltInPartitioner`).

    It changes after `switch_bytes` bytes were sent to it, to a partition that has a leader.
    """

    def __init__(self, random: Random, *, switch_bytes: int) -> None:
        self._random = random
        self._switch_bytes = switch_bytes
        self._present: dict[str, tuple[int, int]] = {}

    def choose(self, topic: str, cluster: Cluster, *, size: int) -> int:
        """Return the partition for a record of `size` bytes."""
        partitions = cluster.topics[topic].partitions
        partition, left = self._present.get(topic, (0, 0))
        if left <= 0 or partition not in partitions:
            led = [each for each in partitions if cluster.leader_of(topic, each) is not None]
            candidates = led or list(partitions)
            partition = candidates[self._random.below(len(candidates))]
            left = self._switch_bytes
        self._present[topic] = (partition, left - size)
        return partition

    def retain(self, topics: Container[str]) -> None:
        """Drop the state of all other topics."""
        self._present = {name: each for name, each in self._present.items() if name in topics}


class PartitionChoice:
    """Choice of a producer: the record's partition, the partitioner's, or the sticky one."""

    def __init__(self, partitioner: Partitioner, random: Random, *, switch_bytes: int) -> None:
        self._partitioner = partitioner
        self._sticky = StickyPartition(random, switch_bytes=switch_bytes)

    def choose(self, record: NewRecord | NewBatch, cluster: Cluster) -> int:
        """Return the partition of a record of a known topic.

        InvalidRequestError if the partitioner returns one that the topic does not have.
        """
        if record.partition is not None:
            return record.partition
        partitions = cluster.topics[record.topic].partitions
        key = record.key
        chosen = self._partitioner(None if key is None else bytes(key), len(partitions))
        if chosen is None:
            return self._sticky.choose(record.topic, cluster, size=record.size)
        if chosen not in partitions:
            raise InvalidRequestError(
                f"topic {record.topic!r} has no partition {chosen}, which the partitioner returned;"
                f" let it return 0 to {len(partitions) - 1}, or None"
            )
        return chosen

    def retain(self, topics: Container[str]) -> None:
        """Drop the state of all other topics."""
        self._sticky.retain(topics)
