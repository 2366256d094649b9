"""Checksums of ranges from the checksums of prefixes."""

import random

import pytest

from cordwood.core.binary import crc32, crc32c
from cordwood.workbench.range_checksums import BLOCK, CRC32, CRC32C, Checksum, RangeChecksums

DATA = random.Random(7).randbytes(9 * BLOCK + 100)


def read(length: int, position: int) -> bytes:
    return DATA[position : position + length]


@pytest.mark.parametrize(("checksum", "direct"), ((CRC32C, crc32c), (CRC32, crc32)))
def test_checksums_are_those_of_the_bytes(checksum: Checksum, direct: object) -> None:
    assert callable(direct)
    chance, sums = random.Random(8), RangeChecksums(read, checksum, origin=17)

    for _ in range(300):
        start, end = sorted(chance.randrange(17, len(DATA) + 1) for _ in range(2))

        assert sums.crc(start, end) == direct(DATA[start:end]), (start, end)


def test_long_ranges_are_read_once() -> None:
    lengths: list[int] = []

    def counted(length: int, position: int) -> bytes:
        data = read(length, position)
        lengths.append(len(data))
        return data

    sums = RangeChecksums(counted, CRC32C)
    for start in range(100):
        sums.crc(start, len(DATA) - start)

    assert sum(lengths) <= len(DATA) + 100 * 2 * BLOCK


def test_truncated_file_raises() -> None:
    with pytest.raises(EOFError, match="truncated"):
        RangeChecksums(read, CRC32C).crc(0, len(DATA) + 3 * BLOCK)
