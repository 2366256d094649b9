"""The marks of a pass: two bits for each record that it may retain.

    latest      no later record has its key; never set for a record without a key
    tombstone   it has a key and no value

Records are numbered in the order of the log, from 0 at the first one of the plan. Numbered is every
record of every batch except control batches; those of aborted transactions are numbered too. A key
map sets the bits, and the rewrite reads them. So the rewrite reads no keys, and no records of
batches that stay or go as a whole.
"""

from typing import Final

_BITS: Final = 8


class Marks:
    """The bits of `count` records, lowest first in each byte; all are clear at first."""

    __slots__ = ("count", "latest", "tombstones")

    def __init__(self, count: int) -> None:
        self.count = count
        self.latest = bytearray(-(-count // _BITS))
        self.tombstones = bytearray(-(-count // _BITS))

    @property
    def size(self) -> int:
        """The memory of the bits, in bytes."""
        return len(self.latest) + len(self.tombstones)

    def is_latest(self, number: int) -> bool:
        """Whether the record is the latest of its key."""
        return is_set(self.latest, number)

    def is_tombstone(self, number: int) -> bool:
        """Whether the record is a tombstone."""
        return is_set(self.tombstones, number)


def max_records(memory_bytes: int) -> int:
    """Return how many records have marks that fit the memory."""
    return memory_bytes // 2 * _BITS


def is_set(bits: bytearray, number: int) -> bool:
    """Return one bit."""
    return bool(bits[number // _BITS] >> number % _BITS & 1)


def set_bit(bits: bytearray, number: int, *, value: bool = True) -> None:
    """Set or clear one bit."""
    mask = 1 << number % _BITS
    if value:
        bits[number // _BITS] |= mask
    else:
        bits[number // _BITS] &= ~mask & 0xFF
