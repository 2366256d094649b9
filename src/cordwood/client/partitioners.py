"""Which partition a record goes to, where its sender does not say.

    by_key        Kafka's default: murmur2 of the key, so that Java's producer chooses the same;
                  without a key any partition, and the same until a batch has gone there
    RoundRobin    one partition after the other, record by record

Any function of a key and a number of partitions will do as well.
"""

from collections.abc import Callable
from itertools import count
from typing import TypeAlias

from cordwood.core.ports import Random
from cordwood.records.murmur2 import partition_of_key

Partitioner: TypeAlias = Callable[[bytes | None, int], int | None]
"""Takes a key and how many partitions there are. None: whichever the producer is filling."""


def by_key(key: bytes | None, partitions: int) -> int | None:
    """Return the partition of a key; None without one."""
    return None if key is None else partition_of_key(key, partitions)


class RoundRobin:
    """Each record to the partition after the last one's, whatever its key."""

    def __init__(self) -> None:
        self._count = count()

    def __call__(self, key: bytes | None, partitions: int) -> int:  # noqa: ARG002 - a Partitioner
        """Return the next partition."""
        return next(self._count) % partitions


class Sticky:
    """For records without a key: one partition until a batch of bytes has gone there."""

    def __init__(self, random: Random, *, switch_bytes: int) -> None:
        self._random = random
        self._switch_bytes = switch_bytes
        self._present: dict[str, tuple[int, int]] = {}

    def choose(self, topic: str, partitions: int, *, size: int) -> int:
        """Return the partition of a record of so many bytes."""
        partition, left = self._present.get(topic, (0, 0))
        if left <= 0 or partition >= partitions:
            partition, left = self._random.below(partitions), self._switch_bytes
        self._present[topic] = (partition, left - size)
        return partition
