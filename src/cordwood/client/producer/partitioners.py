"""Partitioners: functions that choose the partition of a record (Java: `Partitioner`).

    by_key        Kafka's default: murmur2 of the key, the same choice as Java's producer;
                  a record without a key goes to a sticky partition
    RoundRobin    one partition after the other, record by record

Any function of a key and a partition count is a partitioner.
"""

from collections.abc import Callable
from itertools import count
from typing import TypeAlias

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

    It changes after `switch_bytes` bytes were sent to it.
    """

    def __init__(self, random: Random, *, switch_bytes: int) -> None:
        self._random = random
        self._switch_bytes = switch_bytes
        self._present: dict[str, tuple[int, int]] = {}

    def choose(self, topic: str, partitions: int, *, size: int) -> int:
        """Return the partition for a record of `size` bytes."""
        partition, left = self._present.get(topic, (0, 0))
        if left <= 0 or partition >= partitions:
            partition, left = self._random.below(partitions), self._switch_bytes
        self._present[topic] = (partition, left - size)
        return partition
