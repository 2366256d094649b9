"""Twins of the intrinsics for interpreted runs: the same moves, with every bound checked."""

import sys
from typing import Literal

from cordwood.records.kernels.kernel_definition import Bytes, Words
from cordwood.records.kernels.layout import WIDE

_ALL = (1 << 64) - 1
_POLYNOMIAL = 0x82F63B78


def _load(source: Bytes, at: int, size: int) -> int:
    assert 0 <= at <= len(source) - size, "a load outside the source"
    return int.from_bytes(source[at : at + size].tobytes(), "big", signed=True)


def _store(
    slab: Bytes, at: int, value: int, size: int, order: Literal["big", "little"] = sys.byteorder
) -> None:
    assert 0 <= at <= len(slab) - size, "a store outside the slab"
    low = int(value) & ((1 << 8 * size) - 1)
    slab[at : at + size] = memoryview(low.to_bytes(size, order))


def byte_at(source: Bytes, at: int) -> int:
    """One byte as a number from 0 to 255."""
    assert 0 <= at < len(source), "a load outside the source"
    return int(source[at])


def load_8(source: Bytes, at: int) -> int:
    """A signed number of 8 bits."""
    return _load(source, at, 1)


def load_16(source: Bytes, at: int) -> int:
    """A big-endian signed number of 16 bits."""
    return _load(source, at, 2)


def load_32(source: Bytes, at: int) -> int:
    """A big-endian signed number of 32 bits."""
    return _load(source, at, 4)


def load_64(source: Bytes, at: int) -> int:
    """A big-endian signed number of 64 bits."""
    return _load(source, at, 8)


def word_at(source: Bytes, at: int) -> int:
    """A signed number of 64 bits in the machine's order: what `store_64` has written."""
    assert 0 <= at <= len(source) - 8, "a load outside the source"
    return int.from_bytes(source[at : at + 8].tobytes(), sys.byteorder, signed=True)


def store_8(slab: Bytes, at: int, value: int) -> None:
    """The low 8 bits of a number."""
    _store(slab, at, value, 1)


def store_16(slab: Bytes, at: int, value: int) -> None:
    """The low 16 bits of a number, in the machine's order."""
    _store(slab, at, value, 2)


def store_32(slab: Bytes, at: int, value: int) -> None:
    """The low 32 bits of a number, in the machine's order."""
    _store(slab, at, value, 4)


def store_64(slab: Bytes, at: int, value: int) -> None:
    """The low 64 bits of a number, in the machine's order."""
    _store(slab, at, value, 8)


def store_big_16(slab: Bytes, at: int, value: int) -> None:
    """The low 16 bits of a number, big-endian."""
    _store(slab, at, value, 2, "big")


def store_big_32(slab: Bytes, at: int, value: int) -> None:
    """The low 32 bits of a number, big-endian."""
    _store(slab, at, value, 4, "big")


def store_big_64(slab: Bytes, at: int, value: int) -> None:
    """The low 64 bits of a number, big-endian."""
    _store(slab, at, value, 8, "big")


def copy(slab: Bytes, to: int, source: Bytes, at: int, size: int) -> None:
    """Bytes of one array into another."""
    assert 0 <= at <= len(source) - size, "a load outside the source"
    assert 0 <= to <= len(slab) - size, "a store outside the slab"
    slab[to : to + size] = source[at : at + size]


def copy_wide(slab: Bytes, to: int, source: Bytes, at: int) -> None:
    """WIDE bytes at once, of which the caller counts only the first."""
    copy(slab, to, source, at, WIDE)


def soon_written(slab: Bytes | Words, to: int) -> None:
    """A line of the cache that a store will need; here there is no cache."""


def wrapping_sum(left: int, right: int) -> int:
    """A sum as a machine with 64 bits sees it."""
    return _signed(int(left) + int(right))


def wrapping_product(left: int, right: int) -> int:
    """A product as a machine with 64 bits sees it."""
    return _signed(int(left) * int(right))


def folded_product(left: int, right: int) -> int:
    """Both halves of the product of two words without sign, the one xor the other."""
    product = (int(left) & _ALL) * (int(right) & _ALL)
    return _signed(product >> 64 ^ product & _ALL)


def _signed(number: int) -> int:
    return ((number + (1 << 63)) & _ALL) - (1 << 63)


def crc_step_8(crc: int, source: Bytes, at: int) -> int:
    """The CRC-32C after 8 more bytes."""
    for place in range(at, at + 8):
        crc = crc_step_1(crc, source, place)
    return crc


def crc_step_1(crc: int, source: Bytes, at: int) -> int:
    """The CRC-32C after one more byte."""
    crc = int(crc) ^ byte_at(source, at)
    for _ in range(8):
        crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
    return crc
