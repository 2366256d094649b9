"""Which single bit is wrong, by what it does to a CRC: bytes that say where they were hurt.

A CRC is linear, so the difference between the checksum that is stored and the one that the bytes
have depends on the wrong bits alone. The difference that one wrong bit makes is another for each
place, up to lengths that no batch has: it is rolled back, byte by byte from the end, until it is
what a bit does in the byte that it is in. A difference of one bit is a bit of the checksum itself.

Damage of many bits looks like one bit with a chance of 8 times the length in 2 to the power 32, so
whoever mends a batch by this reads its records too.
"""

from functools import cache
from typing import Final, NamedTuple

#: The polynomials in reversed order of bits, as both checksums are computed.
CASTAGNOLI: Final = 0x82F63B78
IEEE: Final = 0xEDB88320


class WrongBit(NamedTuple):
    """A place in the bytes that were summed up, and the bit of that byte to be turned."""

    at: int
    mask: int


def wrong_bit(difference: int, length: int, *, polynomial: int) -> WrongBit | None:
    """Return the one bit of `length` bytes that makes up the difference, None if none does."""
    starts, backwards = _tables(polynomial)
    for at in range(length - 1, -1, -1):
        if difference in starts:
            return WrongBit(at, starts[difference])
        difference = (difference << 8 ^ backwards[difference >> 24]) & 0xFFFFFFFF
    return None


def is_of_the_checksum(difference: int) -> bool:
    """Whether the bit that is wrong is one of the stored checksum."""
    return difference.bit_count() == 1


@cache
def _tables(polynomial: int) -> tuple[dict[int, int], list[int]]:
    """Return what each bit of the last byte does, and by a top byte what to roll back with."""
    forwards = [_shifted(byte, polynomial) for byte in range(256)]
    backwards = [0] * 256
    for byte, after in enumerate(forwards):
        backwards[after >> 24] = (after << 8 ^ byte) & 0xFFFFFFFF
    return {forwards[1 << bit]: 1 << bit for bit in range(8)}, backwards


def _shifted(byte: int, polynomial: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (polynomial if byte & 1 else 0)
    return byte
