"""Loads and stores as the kernels see them, compiled or not."""

import sys

import numpy as np
import pytest

from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.records.kernels import interpreted
from cordwood.records.kernels.intrinsics import (
    byte_at,
    copy,
    copy_wide,
    folded_product,
    load_8,
    load_16,
    load_32,
    load_64,
    soon_written,
    store_8,
    store_16,
    store_32,
    store_64,
    store_big_16,
    store_big_32,
    store_big_64,
    word_at,
    wrapping_product,
    wrapping_sum,
)
from cordwood.records.kernels.kernel_definition import Bytes, inlined
from cordwood.records.kernels.layout import WIDE

ORDER = sys.byteorder


@inlined
def load_all(source: Bytes, at: int) -> tuple[int, int, int, int, int]:
    return (
        byte_at(source, at),
        load_8(source, at),
        load_16(source, at),
        load_32(source, at),
        load_64(source, at),
    )


@inlined
def store_all(slab: Bytes, at: int, value: int) -> None:
    store_8(slab, at, value)
    store_16(slab, at + 1, value)
    store_32(slab, at + 3, value)
    store_64(slab, at + 7, value)


@inlined
def store_all_big(slab: Bytes, at: int, value: int) -> None:
    store_big_16(slab, at, value)
    store_big_32(slab, at + 2, value)
    store_big_64(slab, at + 6, value)


@inlined
def products(left: int, right: int) -> tuple[int, int]:
    return wrapping_product(left, right), folded_product(left, right)


@inlined
def copy_both(slab: Bytes, to: int, source: Bytes, at: int, size: int) -> None:
    copy(slab, to, source, at, size)
    copy_wide(slab, to + size, source, at)


@inlined
def word_again(slab: Bytes, at: int, value: int) -> int:
    soon_written(slab, at + 10**6)
    store_64(slab, at, value)
    return word_at(slab, at)


@inlined
def wrapping_sum_of(left: int, right: int) -> int:
    return wrapping_sum(left, right)


@inlined
def is_larger_with(left: int, right: int) -> bool:
    """Return a comparison that LLVM folds, unless the sum is marked as wrapping."""
    return right > 0 and wrapping_sum(left, right) > left


@pytest.mark.parametrize("at", (0, 1, 3))
def test_loads_are_big_endian_at_any_position(at: int) -> None:
    source = np.frombuffer(bytes(at) + bytes(range(1, 9)), np.uint8)

    assert load_all(source, at) == (1, 1, 0x0102, 0x01020304, 0x0102030405060708)


def test_loads_keep_the_sign() -> None:
    source = np.frombuffer(b"\xff" * 7 + b"\xfe", np.uint8)

    assert load_all(source, 0) == (255, -1, -1, -1, -2)


@pytest.mark.parametrize("value", (0x1122334455667788, -2, 0, INT64_MIN))
def test_stores_keep_the_low_bits(value: int) -> None:
    slab = np.full(17, 0xAA, np.uint8)

    store_all(slab, 1, value)

    low = [(value & ((1 << 8 * size) - 1)).to_bytes(size, ORDER) for size in (1, 2, 4, 8)]
    assert slab.tobytes() == b"\xaa" + b"".join(low) + b"\xaa"


@pytest.mark.parametrize("value", (0x1122334455667788, -2, 0, INT64_MIN))
def test_big_endian_stores_keep_the_low_bits(value: int) -> None:
    slab = np.full(16, 0xAA, np.uint8)

    store_all_big(slab, 1, value)

    low = [(value & ((1 << 8 * size) - 1)).to_bytes(size, "big") for size in (2, 4, 8)]
    assert slab.tobytes() == b"\xaa" + b"".join(low) + b"\xaa"


@pytest.mark.parametrize(
    ("left", "right"), ((3, 5), (-3, 5), (INT64_MIN, 3), (0x123456789ABCDEF, -0xFEDCBA987654321))
)
def test_products_equal_the_interpreted_ones(left: int, right: int) -> None:
    expected = interpreted.wrapping_product(left, right), interpreted.folded_product(left, right)

    assert products(left, right) == expected


def test_copies_copy_the_given_number_of_bytes() -> None:
    source = np.frombuffer(bytes(range(100)), np.uint8)
    slab = np.full(WIDE + 7, 0xAA, np.uint8)

    copy_both(slab, 1, source, 50, 5)

    wide = bytes(range(50, 50 + WIDE))
    assert slab.tobytes() == b"\xaa" + wide[:5] + wide + b"\xaa"


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    ((1, 2, 3), (INT64_MAX, 1, INT64_MIN), (INT64_MIN, -1, INT64_MAX), (-5, 5, 0)),
)
def test_sums_wrap_as_64_bits_do(left: int, right: int, expected: int) -> None:
    assert wrapping_sum_of(left, right) == expected


@pytest.mark.parametrize(("left", "is_larger"), ((5, True), (INT64_MAX, False)))
def test_sum_is_compared_as_it_is_when_it_has_wrapped(left: int, *, is_larger: bool) -> None:
    assert is_larger_with(left, 1) is is_larger


@pytest.mark.parametrize("value", (0, -1, INT64_MIN, INT64_MAX))
def test_stored_word_is_loaded(value: int) -> None:
    assert word_again(np.zeros(16, np.uint8), 3, value) == value
