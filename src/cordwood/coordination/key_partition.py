"""Partition of a group or a transactional id in its internal topic (Kafka: `partitionFor`)."""

from functools import lru_cache
from typing import Final

from cordwood.core.java_hash import absolute, java_hash

#: The longest key whose hash is cached.
_SHORT: Final = 128

#: Hashes of keys in use: each request of a member needs that of its group.
_cached_hash: Final = lru_cache(maxsize=4_096)(java_hash)


def partition_for(key: str, partitions: int) -> int:
    """Return the partition of a key. Kafka's absolute value of the lowest number is 0."""
    value = _cached_hash(key) if len(key) <= _SHORT else java_hash(key)
    return absolute(value) % partitions
