"""A checksum identifies a single wrong bit."""

import random

import pytest

from cordwood.core.binary import crc32, crc32c
from cordwood.workbench.salvage.bit_errors import CASTAGNOLI, IEEE, find_wrong_bit, is_checksum_bit


@pytest.mark.parametrize(("checksum", "polynomial"), ((crc32c, CASTAGNOLI), (crc32, IEEE)))
def test_wrong_bit_is_found_at_any_position(checksum: object, polynomial: int) -> None:
    chance = random.Random(1)
    summed = crc32c if checksum is crc32c else crc32
    for _ in range(30):
        data = bytearray(chance.randbytes(chance.randint(1, 500)))
        before = summed(data)
        at, mask = chance.randrange(len(data)), 1 << chance.randrange(8)
        data[at] ^= mask

        found = find_wrong_bit(before ^ summed(data), len(data), polynomial=polynomial)

        assert found == (at, mask)


def test_two_wrong_bits_are_not_identified_as_one() -> None:
    data = bytearray(200)
    before = crc32c(data)
    data[3] ^= 1
    data[90] ^= 8

    assert find_wrong_bit(before ^ crc32c(data), len(data), polynomial=CASTAGNOLI) is None


def test_difference_of_one_bit_is_a_bit_of_the_checksum() -> None:
    assert is_checksum_bit(1 << 31)
    assert not is_checksum_bit(3)
