"""Checksums of many ranges of one file, at a cost that does not depend on their lengths.

A value may be made of millions of headers that each claim a long batch. The checksum of each claim
alone would take quadratic time. A CRC is linear: that of a range follows from the CRCs of the two
prefixes that end at its bounds. So the file is read once, and a range costs two partial blocks.

    prefix(end) = shift(prefix(start), end - start) xor crc(start, end)

`shift` appends N zero bytes: for each bit of N one table, which is computed on first use.
"""

from array import array
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

from cordwood.core.binary import Buffer, crc32, crc32c

#: The distance of the prefixes that are kept: 4 bytes for each block, so 8 MiB for 2 GiB.
BLOCK: Final = 1024
#: Blocks that are read at a time.
_READ_BLOCKS: Final = 1024
#: A segment is below 2 GiB.
_LENGTH_BITS: Final = 31

#: Returns bytes by length and position; fewer only at the end of the file.
ReadBytes = Callable[[int, int], bytes]


class Checksum(NamedTuple):
    """A CRC: its function, which continues from a value, and its polynomial in reversed order."""

    compute: Callable[[Buffer, int], int]
    polynomial: int


CRC32C: Final = Checksum(crc32c, 0x82F63B78)
CRC32: Final = Checksum(crc32, 0xEDB88320)


class RangeChecksums:
    """The checksums of ranges at or above `origin` of a file that does not change."""

    __slots__ = ("_checksum", "_origin", "_prefixes", "_read")

    def __init__(self, read: ReadBytes, checksum: Checksum, *, origin: int = 0) -> None:
        self._read = read
        self._checksum = checksum
        self._origin = origin
        #: The checksums from the origin up to each whole block.
        self._prefixes = array("I", [0])

    def crc(self, start: int, end: int) -> int:
        """Return the checksum of a range inside the file."""
        assert self._origin <= start <= end, "ranges are at or above the origin"
        if end - start <= 2 * BLOCK:
            return self._checksum.compute(self._read(end - start, start), 0)
        before, behind = self._prefix(start), self._prefix(end)
        return behind ^ _shift(before, end - start, self._checksum.polynomial)

    def _prefix(self, position: int) -> int:
        """Return the checksum from the origin up to a position."""
        number, rest = divmod(position - self._origin, BLOCK)
        while len(self._prefixes) <= number:
            self._extend()
        data = self._read(rest, position - rest) if rest else b""
        return self._checksum.compute(data, self._prefixes[number])

    def _extend(self) -> None:
        """Add the prefixes of the next blocks."""
        known = len(self._prefixes) - 1
        data = memoryview(self._read(_READ_BLOCKS * BLOCK, self._origin + known * BLOCK))
        value = self._prefixes[-1]
        for at in range(0, len(data) - BLOCK + 1, BLOCK):
            value = self._checksum.compute(data[at : at + BLOCK], value)
            self._prefixes.append(value)
        if len(self._prefixes) == known + 1:
            raise EOFError("the file has been truncated")


def _shift(value: int, length: int, polynomial: int) -> int:
    """Return the checksum of bytes with checksum `value` and `length` zero bytes behind them."""
    power = 0
    while length >> power:
        if length >> power & 1:
            first, second, third, fourth = _tables(power, polynomial)
            value = (
                first[value & 0xFF]
                ^ second[value >> 8 & 0xFF]
                ^ third[value >> 16 & 0xFF]
                ^ fourth[value >> 24]
            )
        power += 1
    assert power <= _LENGTH_BITS, "a range is shorter than the largest segment"
    return value


@cache
def _tables(power: int, polynomial: int) -> list[list[int]]:
    """Return what each value of each byte becomes behind 2 to the power of N zero bytes."""
    factor = _power_of_x(power, polynomial)
    bits = [_multiply(1 << bit, factor, polynomial) for bit in range(32)]
    tables = []
    for byte in range(0, 32, 8):
        table = [0] * 256
        for value in range(1, 256):
            lowest = value & -value
            table[value] = table[value ^ lowest] ^ bits[byte + lowest.bit_length() - 1]
        tables.append(table)
    return tables


@cache
def _power_of_x(power: int, polynomial: int) -> int:
    """Return x to the power of 8 times 2 to the power of N, modulo the polynomial."""
    if power == 0:
        return 1 << (31 - 8)
    root = _power_of_x(power - 1, polynomial)
    return _multiply(root, root, polynomial)


def _multiply(left: int, right: int, polynomial: int) -> int:
    """Multiply two polynomials whose highest bits are the lowest powers, modulo the polynomial."""
    product = 0
    for bit in range(31, -1, -1):
        if left >> bit & 1:
            product ^= right
        right = right >> 1 ^ (polynomial if right & 1 else 0)
    return product
