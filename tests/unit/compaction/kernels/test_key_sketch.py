"""Keys added to a sketch by the kernel."""

import random

import pytest

from cordwood.compaction.engine import key_sketch
from cordwood.compaction.engine.key_sketch import REGISTERS, STANDARD_ERROR, estimate_distinct
from cordwood.compaction.kernels.key_sketch import add_keys
from tests.unit.compaction.engine.test_key_sketch import laid


def test_kernel_registers_equal_the_plain_ones() -> None:
    chance = random.Random(7)
    keys = [chance.randbytes(size) for size in range(60) for _ in range(3)]
    found, expected = bytearray(REGISTERS), bytearray(REGISTERS)

    add_keys(found, laid(keys))
    key_sketch.add_keys(expected, laid(keys))

    assert found == expected


def test_no_register_changes_without_keys() -> None:
    registers = bytearray(REGISTERS)

    add_keys(registers, laid([]))

    assert not any(registers)


@pytest.mark.parametrize("count", (30_000, 60_000, 150_000, 1_000_000))
def test_estimate_of_many_keys_is_within_its_error(count: int) -> None:
    registers = bytearray(REGISTERS)

    add_keys(registers, laid([number.to_bytes(8) for number in range(count)]))

    assert estimate_distinct(registers) == pytest.approx(count, rel=4 * STANDARD_ERROR)
