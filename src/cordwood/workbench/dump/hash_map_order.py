"""Iteration order of Java's `HashMap`, in which Kafka's dump tool lists files.

Long buckets, which Java converts to trees, are not emulated.
"""

import struct
from collections.abc import Iterable
from typing import Final

_INITIAL_TABLE_SIZE: Final = 16


def hash_map_order(keys: Iterable[str]) -> list[str]:
    """Return distinct keys in the order of a `HashMap` filled by `computeIfAbsent`.

    A new key goes in front of its bucket, and the table grows one key later than with `put`.
    """
    ordered = list(keys)
    table_size = _INITIAL_TABLE_SIZE
    while len(ordered) - 1 > table_size * 3 // 4:
        table_size *= 2
    ordered.reverse()
    ordered.sort(key=lambda key: _spread_hash(key) & (table_size - 1))
    return ordered


def _spread_hash(text: str) -> int:
    """Return `String.hashCode` with its upper half folded into the lower one."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for (unit,) in struct.iter_unpack(">H", units):
        value = value * 31 + unit & 0xFFFFFFFF
    return value ^ value >> 16
