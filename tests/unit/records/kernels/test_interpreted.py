"""The interpreted intrinsics: the same copies, with every bound checked."""

import sys
from collections.abc import Callable

import numpy as np
import pytest

from cordwood.core.binary import INT64_MAX, INT64_MIN, crc32c
from cordwood.records.kernels import interpreted
from cordwood.records.kernels.kernel_definition import Bytes
from cordwood.records.kernels.layout import WIDE

SOURCE = np.frombuffer(b"\xff\xfe\x01\x02\x03\x04\x05\x06", np.uint8)
LOADS = (
    (interpreted.load_8, 1, -1),
    (interpreted.load_16, 2, -2),
    (interpreted.load_32, 4, -0x1FEFE),
    (interpreted.load_64, 8, -0x1FEFDFCFBFAFA),
)
STORES = (
    (interpreted.store_8, 1),
    (interpreted.store_16, 2),
    (interpreted.store_32, 4),
    (interpreted.store_64, 8),
)


@pytest.mark.parametrize(("load", "expected"), [(load, number) for load, _, number in LOADS])
def test_load_is_big_endian_and_signed(load: Callable[[Bytes, int], int], expected: int) -> None:
    assert load(SOURCE, 0) == expected


@pytest.mark.parametrize(("load", "size"), [(load, size) for load, size, _ in LOADS])
def test_load_outside_the_source_is_rejected(load: Callable[[Bytes, int], int], size: int) -> None:
    with pytest.raises(AssertionError, match="outside the source"):
        load(SOURCE, 9 - size)
    with pytest.raises(AssertionError, match="outside the source"):
        load(SOURCE, -1)


@pytest.mark.parametrize(("store", "size"), STORES)
def test_store_keeps_the_low_bits(store: Callable[[Bytes, int, int], None], size: int) -> None:
    slab = np.zeros(10, np.uint8)

    store(slab, 1, -2)

    assert slab.tobytes()[1 : 1 + size] == (-2).to_bytes(size, sys.byteorder, signed=True)
    assert np.count_nonzero(slab) == size


@pytest.mark.parametrize(
    ("store", "size"),
    ((interpreted.store_big_16, 2), (interpreted.store_big_32, 4), (interpreted.store_big_64, 8)),
)
def test_store_is_big_endian(store: Callable[[Bytes, int, int], None], size: int) -> None:
    slab = np.zeros(10, np.uint8)

    store(slab, 1, -2)

    assert slab.tobytes()[1 : 1 + size] == (-2).to_bytes(size, "big", signed=True)
    assert np.count_nonzero(slab) == size


@pytest.mark.parametrize(("store", "size"), STORES)
def test_store_outside_the_slab_is_rejected(
    store: Callable[[Bytes, int, int], None], size: int
) -> None:
    slab = np.zeros(10, np.uint8)

    with pytest.raises(AssertionError, match="outside the slab"):
        store(slab, 11 - size, 1)
    assert not slab.any()


def test_byte_is_unsigned_and_inside() -> None:
    assert interpreted.byte_at(SOURCE, 1) == 254
    with pytest.raises(AssertionError, match="outside the source"):
        interpreted.byte_at(SOURCE, 8)


def test_copy_moves_so_many_bytes() -> None:
    slab = np.zeros(6, np.uint8)

    interpreted.copy(slab, 2, SOURCE, 4, 3)

    assert slab.tolist() == [0, 0, 3, 4, 5, 0]


@pytest.mark.parametrize(("to", "begin", "size"), ((0, 6, 3), (4, 0, 3), (-1, 0, 1), (0, -1, 1)))
def test_copy_outside_the_source_or_the_slab_is_rejected(to: int, begin: int, size: int) -> None:
    slab = np.zeros(6, np.uint8)

    with pytest.raises(AssertionError, match="outside"):
        interpreted.copy(slab, to, SOURCE, begin, size)


def test_wide_copy_moves_a_whole_vector() -> None:
    source = np.arange(40, dtype=np.uint8)
    slab = np.zeros(40, np.uint8)

    interpreted.copy_wide(slab, 1, source, 3)

    assert slab.tolist() == [0, *range(3, 3 + WIDE), *[0] * (39 - WIDE)]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    ((2, 3, 5), (INT64_MAX, 1, INT64_MIN), (INT64_MIN, -1, INT64_MAX), (INT64_MIN, INT64_MIN, 0)),
)
def test_sum_wraps_as_64_bits_do(left: int, right: int, expected: int) -> None:
    assert interpreted.wrapping_sum(left, right) == expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    ((3, -5, -15), (1 << 32, 1 << 31, INT64_MIN), (INT64_MAX, INT64_MAX, 1)),
)
def test_product_wraps_as_64_bits_do(left: int, right: int, expected: int) -> None:
    assert interpreted.wrapping_product(left, right) == expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    ((3, 5, 15), (INT64_MIN, 2, 1), (-1, -1, -1), (1 << 40, 1 << 40, 1 << 16)),
)
def test_product_without_sign_is_folded(left: int, right: int, expected: int) -> None:
    assert interpreted.folded_product(left, right) == expected


def test_word_is_read_in_the_machines_order() -> None:
    slab = np.zeros(10, np.uint8)

    interpreted.soon_written(slab, 1000)
    interpreted.store_64(slab, 2, -7)

    assert interpreted.word_at(slab, 2) == -7


@pytest.mark.parametrize("at", (-1, 1))
def test_word_outside_the_source_is_rejected(at: int) -> None:
    with pytest.raises(AssertionError, match="outside the source"):
        interpreted.word_at(SOURCE, at)


def test_steps_of_a_checksum_equal_the_wheel() -> None:
    crc = interpreted.crc_step_8(0xFFFFFFFF, SOURCE, 0)

    assert crc ^ 0xFFFFFFFF == crc32c(SOURCE.data)
    assert interpreted.crc_step_1(0xFFFFFFFF, SOURCE, 2) ^ 0xFFFFFFFF == crc32c(b"\x01")


def test_step_outside_the_source_is_rejected() -> None:
    with pytest.raises(AssertionError, match="outside the source"):
        interpreted.crc_step_8(0, SOURCE, 1)
