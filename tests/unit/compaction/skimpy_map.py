"""A twin of Kafka's `SkimpyOffsetMap`: it distinguishes keys by 16 bytes of MD5 alone.

slot     24 bytes: the hash, then the offset; all zeros if it is free
probes   4 bytes of the hash, from its start on, one byte further each time; then one slot
         further each time
"""

import hashlib
from collections.abc import Callable

HASH_SIZE = 16
SLOT_SIZE = 24
LOAD_FACTOR = 0.9
_LAST = HASH_SIZE - 4


def md5(key: bytes) -> bytes:
    return hashlib.md5(key, usedforsecurity=False).digest()


class SkimpyMap:
    """The last offset of each hash."""

    def __init__(self, memory_bytes: int, hash_of: Callable[[bytes], bytes] = md5) -> None:
        self.slots = memory_bytes // SLOT_SIZE
        self.size = 0
        self._hash_of = hash_of
        self._data = bytearray(self.slots * SLOT_SIZE)

    @property
    def usable(self) -> int:
        """The number of keys at which the cleaner ends its pass."""
        return int(self.slots * LOAD_FACTOR)

    def put(self, key: bytes, offset: int) -> None:
        hashed = self._hash_of(key)
        at = self._find(hashed)
        self.size += not any(self._data[at : at + SLOT_SIZE])
        self._data[at : at + SLOT_SIZE] = hashed + offset.to_bytes(8)

    def get(self, key: bytes) -> int:
        """Return the last offset of a key, -1 without one."""
        at = self._find(self._hash_of(key))
        slot = self._data[at : at + SLOT_SIZE]
        return int.from_bytes(slot[HASH_SIZE:]) if any(slot) else -1

    def _find(self, hashed: bytes) -> int:
        """Return the position of a hash's slot, or of the free slot for it."""
        for attempt in range(self.slots + _LAST):
            start = min(attempt, _LAST)
            probe = int.from_bytes(hashed[start : start + 4], signed=True)
            probe = _wrapped(probe + max(0, attempt - _LAST))
            at = (0 if probe == -(1 << 31) else abs(probe)) % self.slots * SLOT_SIZE
            slot = self._data[at : at + SLOT_SIZE]
            if not any(slot) or slot[:HASH_SIZE] == hashed:
                return at
        raise LookupError("no slot is free")


def _wrapped(number: int) -> int:
    """Return a number wrapped to 32 signed bits."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)
