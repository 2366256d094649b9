"""Values in columns: copies within their bounds, bits, and views in Arrow's layout."""

import sys

import numpy as np
import pytest

from cordwood.records.kernels import layout as at
from cordwood.records.kernels.row_writer import (
    LINE,
    SMALL,
    clear_bit,
    fill_8,
    fill_32,
    put,
    put_bytes,
    put_headers,
    put_view,
)
from tests.unit.records.kernels.words import empty_state, source_of

TEXT = bytes(range(256)) * 20
COLUMNS = (
    (at.P_KEY, at.F_KEY_BYTES, at.F_KEY_NULLS),
    (at.P_VALUE, at.F_VALUE_BYTES, at.F_VALUE_NULLS),
)


@pytest.mark.parametrize("size", (0, 1, LINE, LINE + 1, 4 * LINE, SMALL, SMALL + 1))
def test_put_copies_bytes_of_any_size(size: int) -> None:
    slab = np.full(5000, 0xAA, np.uint8)

    put(slab, 7, source_of(TEXT), 3, size)

    assert slab[7 : 7 + size].tobytes() == TEXT[3 : 3 + size]
    assert slab[:7].tolist() == [0xAA] * 7
    assert slab[7 + size + LINE :].tobytes() == b"\xaa" * (5000 - 7 - size - LINE)


def test_put_reads_no_bytes_after_the_source() -> None:
    slab = np.zeros(64, np.uint8)

    put(slab, 0, source_of(b"..end"), 2, 3)

    assert slab.tobytes() == b"end".ljust(64, b"\0")


def test_bit_is_cleared_for_its_row_only() -> None:
    slab = np.full(4, 0xFF, np.uint8)

    clear_bit(slab, 1, 10)

    assert slab.tolist() == [0xFF, 0xFF, 0b11111011, 0xFF]


@pytest.mark.parametrize(("size", "count"), ((-1, 0), (0, 0), (5, 5), (12, 12)))
def test_view_holds_its_bytes_when_they_are_few(size: int, count: int) -> None:
    plan = np.zeros(at.PLAN_WORDS, np.int64)
    slab = np.full(32, 0xAA, np.uint8)

    put_view(slab, 8, source_of(TEXT), 65, size, plan)

    expected = count.to_bytes(4, sys.byteorder) + TEXT[65 : 65 + count].ljust(12, b"\0")
    assert slab.tobytes() == b"\xaa" * 8 + expected + b"\xaa" * 8


def test_view_points_to_its_bytes_when_they_are_many() -> None:
    plan = np.zeros(at.PLAN_WORDS, np.int64)
    plan[at.P_VIEW_BUFFER] = 2
    plan[at.P_VIEW_ORIGIN] = 60
    slab = np.zeros(16, np.uint8)

    put_view(slab, 0, source_of(TEXT), 65, 13, plan)

    words = [
        int.from_bytes(slab[place : place + 4].tobytes(), sys.byteorder) for place in (0, 8, 12)
    ]
    assert words == [13, 2, 5]
    assert slab[4:8].tobytes() == TEXT[65:69]


@pytest.mark.parametrize(("column", "counter", "nulls"), COLUMNS)
def test_bytes_end_where_the_next_begin(column: int, counter: int, nulls: int) -> None:
    plan, state = np.zeros(at.PLAN_WORDS, np.int64), empty_state()
    plan[column : column + 3] = (0, 64, 128)
    slab = np.full(256, 0xFF, np.uint8)

    for row, (position, size) in enumerate(((65, 3), (0, -1), (0, 0), (70, 2))):
        state[at.F_ROWS] = row
        put_bytes(source_of(TEXT), (position, size, column, counter, nulls), slab, plan, state)

    assert slab[4:20].view(np.int32).tolist() == [3, 3, 3, 5]
    assert slab[64] == 0b11111101
    assert slab[128:133].tobytes() == b"ABCFG"
    assert (int(state[counter]), int(state[nulls])) == (5, 1)


@pytest.mark.parametrize(("column", "counter", "nulls"), COLUMNS)
def test_bytes_are_views_under_a_view_plan(column: int, counter: int, nulls: int) -> None:
    plan, state = np.zeros(at.PLAN_WORDS, np.int64), empty_state()
    plan[column : column + 3] = (0, 64, -1)
    plan[at.P_IS_VIEW] = 1
    slab = np.full(128, 0xFF, np.uint8)
    state[at.F_ROWS] = 1

    put_bytes(source_of(TEXT), (65, 3, column, counter, nulls), slab, plan, state)

    assert slab[16:32].tobytes() == (3).to_bytes(4, sys.byteorder) + b"ABC".ljust(12, b"\0")
    assert int(state[counter]) == 0


def test_headers_are_copied_consecutively() -> None:
    plan, state = np.zeros(at.PLAN_WORDS, np.int64), empty_state()
    plan[at.P_HEADER_KEY : at.P_HEADER_VALUE_DATA + 1] = (0, 64, 128, 192, 256)
    slab = np.full(400, 0xFF, np.uint8)
    two = b"\x04" + b"\x02k" + b"\x04vv" + b"\x04ey" + b"\x01"

    put_headers(source_of(two), 0, slab, plan, state)

    assert slab[4:12].view(np.int32).tolist() == [1, 3]
    assert slab[132:140].view(np.int32).tolist() == [2, 2]
    assert (slab[64:67].tobytes(), slab[256:258].tobytes()) == (b"key", b"vv")
    assert (int(slab[192]), int(state[at.F_HEADERS])) == (0b11111101, 2)


@pytest.mark.parametrize(("begin", "expected"), ((0, [0, 7, 7, 0]), (-1, [0, 0, 0, 0])))
def test_fill_writes_one_number_in_each_row(begin: int, expected: list[int]) -> None:
    bytes_, words = np.zeros(4, np.uint8), np.zeros(16, np.uint8)

    fill_8(bytes_, begin, 1, 3, 7)
    fill_32(words, begin, 1, 3, 7)

    assert bytes_.tolist() == expected
    assert words.view(np.int32).tolist() == expected


def test_fill_keeps_the_sign() -> None:
    words = np.zeros(4, np.uint8)

    fill_32(words, 0, 0, 1, -1)

    assert words.view(np.int32).tolist() == [-1]
