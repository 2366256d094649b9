"""The estimate of the number of distinct keys."""

from array import array

import pytest

from cordwood.compaction.engine.key_sketch import (
    RANKED,
    REGISTERS,
    STANDARD_ERROR,
    PackedKeys,
    add_keys,
    estimate_distinct,
    merge_registers,
)


def laid(keys: list[bytes]) -> PackedKeys:
    """Return keys packed as in an Arrow column."""
    starts = array("i", [0])
    for key in keys:
        starts.append(starts[-1] + len(key))
    return PackedKeys(starts.tobytes(), b"".join(keys))


def sketch(first: int, end: int) -> bytearray:
    """Return the registers of the keys that are made of some numbers."""
    registers = bytearray(REGISTERS)
    add_keys(registers, laid([b"key-%d" % number for number in range(first, end)]))
    return registers


@pytest.mark.parametrize("count", (0, 1, 2, 100, 10_000))
def test_estimate_is_within_its_error(count: int) -> None:
    assert estimate_distinct(sketch(0, count)) == pytest.approx(count, rel=4 * STANDARD_ERROR)


def test_repeated_key_changes_no_register() -> None:
    registers = sketch(0, 50)
    before = bytes(registers)

    add_keys(registers, laid([b"key-%d" % number for number in range(50)]))

    assert registers == before


def test_sketches_of_two_parts_are_joined_into_that_of_both() -> None:
    assert merge_registers(sketch(0, 60), sketch(40, 100)) == sketch(0, 100)


@pytest.mark.parametrize("rank", (1, 3, 20))
def test_estimate_follows_the_ranks_of_registers(rank: int) -> None:
    estimates = [estimate_distinct(bytes([each]) * REGISTERS) for each in (rank, rank + 1)]

    assert estimates[1] == pytest.approx(2 * estimates[0], rel=1e-4)


def test_saturated_registers_have_an_estimate() -> None:
    assert estimate_distinct(bytes([RANKED + 1]) * (REGISTERS - 1) + bytes([RANKED])) > 1 << 62
