"""Partition of a key by murmur2, the hash of Kafka's Java clients (Java: `Utils.murmur2`)."""

from struct import iter_unpack
from typing import Final

SEED: Final = 0x9747B28C
FACTOR: Final = 0x5BD1E995
MASK: Final = 0xFFFFFFFF
POSITIVE: Final = 0x7FFFFFFF


def partition_of_key(key: bytes, partitions: int) -> int:
    """Return the partition that Java's producer chooses; it masks the sign of the hash."""
    return (murmur2(key) & POSITIVE) % partitions


def murmur2(data: bytes) -> int:
    """Return the hash as an unsigned 32-bit number."""
    whole = len(data) & ~3
    digest = SEED ^ len(data)
    for (word,) in iter_unpack("<I", data[:whole]):
        mixed = word * FACTOR & MASK
        mixed = (mixed ^ mixed >> 24) * FACTOR & MASK
        digest = digest * FACTOR & MASK ^ mixed
    if whole < len(data):
        digest = (digest ^ int.from_bytes(data[whole:], "little")) * FACTOR & MASK
    digest = (digest ^ digest >> 13) * FACTOR & MASK
    return digest ^ digest >> 15
