"""Location of a single wrong bit by its effect on a CRC.

A CRC is linear, so the difference (xor) between the stored and the computed checksum depends only
on the wrong bits. Each position of a single wrong bit has a different difference, up to lengths
that no batch has. The search rolls the difference back, byte by byte from the end, until it equals
the effect of one bit in the last byte. A difference of one bit is a wrong bit of the checksum.

Damage of many bits looks like a single wrong bit with a probability of 8 times the length divided
by 2 to the power 32. So a caller that repairs a batch must parse its records too.
"""

from functools import cache
from typing import Final, NamedTuple

#: The polynomials in reversed bit order, as both checksums use them.
CASTAGNOLI: Final = 0x82F63B78
IEEE: Final = 0xEDB88320


class WrongBit(NamedTuple):
    """The position of a byte in the checksummed bytes, and the mask of its wrong bit."""

    at: int
    mask: int


def find_wrong_bit(difference: int, length: int, *, polynomial: int) -> WrongBit | None:
    """Return the bit of `length` bytes that explains the difference, None if no single bit does."""
    starts, backwards = _tables(polynomial)
    for at in range(length - 1, -1, -1):
        if difference in starts:
            return WrongBit(at, starts[difference])
        difference = (difference << 8 ^ backwards[difference >> 24]) & 0xFFFFFFFF
    return None


def is_checksum_bit(difference: int) -> bool:
    """Return whether the wrong bit is in the stored checksum itself."""
    return difference.bit_count() == 1


@cache
def _tables(polynomial: int) -> tuple[dict[int, int], list[int]]:
    """Return the effect of each bit of the last byte, and the table for rolling a CRC back."""
    forwards = [_shift_byte(byte, polynomial) for byte in range(256)]
    backwards = [0] * 256
    for byte, after in enumerate(forwards):
        backwards[after >> 24] = (after << 8 ^ byte) & 0xFFFFFFFF
    return {forwards[1 << bit]: 1 << bit for bit in range(8)}, backwards


def _shift_byte(byte: int, polynomial: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (polynomial if byte & 1 else 0)
    return byte
