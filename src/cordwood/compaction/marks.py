"""What a pass knows of every record that it may keep: two bits each, counted through the log.

    latest      no later record has its key; never set where there is no key
    tombstone   it has a key and no value

Records are numbered in the order of the log, from 0 at the first one of the plan: every record of
every batch but control batches, those of aborted transactions too. A key map sets the bits, and the
rewrite reads them: so it looks at no keys, nor at records of batches that stay, or go, as a whole.
"""

from typing import Final

_BITS: Final = 8


class Marks:
    """The bits of `count` records, lowest first in each byte; all are clear to begin with."""

    __slots__ = ("count", "latest", "tombstones")

    def __init__(self, count: int) -> None:
        self.count = count
        self.latest = bytearray(-(-count // _BITS))
        self.tombstones = bytearray(-(-count // _BITS))

    @property
    def size(self) -> int:
        """The bytes that they take."""
        return len(self.latest) + len(self.tombstones)

    def is_latest(self, number: int) -> bool:
        """Whether no later record has its key."""
        return is_set(self.latest, number)

    def is_tombstone(self, number: int) -> bool:
        """Whether it says that its key is gone."""
        return is_set(self.tombstones, number)


def most_records(memory_bytes: int) -> int:
    """Return of how many records the marks surely fit."""
    return memory_bytes // 2 * _BITS


def is_set(bits: bytearray, number: int) -> bool:
    """Return one bit."""
    return bool(bits[number // _BITS] >> number % _BITS & 1)


def set_bit(bits: bytearray, number: int, *, value: bool = True) -> None:
    """Change one bit."""
    mask = 1 << number % _BITS
    if value:
        bits[number // _BITS] |= mask
    else:
        bits[number // _BITS] &= ~mask & 0xFF
