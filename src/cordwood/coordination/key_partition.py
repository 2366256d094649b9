"""Partition of a group or a transactional id in its internal topic (Kafka: `partitionFor`)."""

from typing import Final

_BITS: Final = 32
_MASK: Final = (1 << _BITS) - 1
_SIGN: Final = 1 << (_BITS - 1)


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode`: over UTF-16 code units, as a signed 32-bit number."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & _MASK
    return value - (1 << _BITS) if value & _SIGN else value


def partition_for(key: str, partitions: int) -> int:
    """Return the partition of a key. Kafka's absolute value of the lowest number is 0."""
    value = java_hash(key)
    return 0 if value == -_SIGN else abs(value) % partitions
