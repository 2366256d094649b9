"""The functions of a library: they check their arguments, and equal the functions as written."""

import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import TypeAlias

import numpy as np
import pytest

from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.records.kernels.layout import WIDE
from tests.native import sample_kernels
from tests.native.samples import SAMPLES

Function: TypeAlias = Callable[..., object]

SOURCE = np.frombuffer(bytes(range(192, 192 + 60)), np.uint8)
SLAB = np.zeros(40, np.uint8)
STARTS = np.array([5], np.int32)
WORDS = np.zeros(2, np.int64)
TABLE = np.arange(12, dtype=np.int64).reshape(3, 4)
NUMBERS = (0, -2, 0x1122334455667788, INT64_MIN, INT64_MAX)


@pytest.fixture
def function(sample_library: ModuleType) -> Callable[[str], Function]:
    """Return a function that finds a sample by its name."""

    def find(name: str) -> Function:
        found: Function = sample_library.KERNELS[f"{SAMPLES}.{name}"]
        return found

    return find


Find: TypeAlias = Callable[[str], Function]


@pytest.mark.parametrize("at", (0, 1, 3))
def test_loads_equal_their_twins(function: Find, at: int) -> None:
    assert function("loads")(SOURCE, at) == sample_kernels.loads(SOURCE, at)


@pytest.mark.parametrize("value", NUMBERS)
def test_stores_equal_their_twins(function: Find, value: int) -> None:
    slab, expected = np.full(40, 0xAA, np.uint8), np.full(40, 0xAA, np.uint8)

    assert function("stores")(slab, 3, value) is None
    sample_kernels.stores(expected, 3, value)

    assert slab.tobytes() == expected.tobytes()


def test_copies_copy_the_given_number_of_bytes(function: Find) -> None:
    slab = np.full(WIDE + 8, 0xAA, np.uint8)

    function("copies")(slab, 1, SOURCE, 20, 6)

    wide = SOURCE.tobytes()[20 : 20 + WIDE]
    assert slab.tobytes() == b"\xaa" + wide[:6] + wide + b"\xaa"


@pytest.mark.parametrize("left", NUMBERS)
@pytest.mark.parametrize("right", NUMBERS)
def test_arithmetic_wraps_as_that_of_the_twins(function: Find, left: int, right: int) -> None:
    assert function("arithmetic")(left, right) == sample_kernels.arithmetic(left, right)


def test_steps_of_a_checksum_equal_their_twins(function: Find) -> None:
    assert function("checksum")(7, SOURCE, 3) == sample_kernels.checksum(7, SOURCE, 3)


def test_arrays_arrive_with_their_shapes(function: Find) -> None:
    words = np.zeros(7, np.int64)
    slabs = (np.zeros(2, np.uint8), np.zeros(3, np.uint8))

    found = function("measured")(slabs, words, STARTS, TABLE)

    assert found == 3 * 237134
    assert words[0] == 6 + 5


def test_number_may_be_one_of_numpy(function: Find) -> None:
    assert function("divided")(np.int64(-9), np.int32(2)) == -5


def test_division_by_zero_is_zero(function: Find) -> None:
    assert function("divided")(9, 0) == 0


@pytest.mark.parametrize("number", (INT64_MAX + 1, INT64_MIN - 1))
def test_number_outside_64_bits_is_rejected(function: Find, number: int) -> None:
    with pytest.raises(OverflowError):
        function("divided")(number, 1)


@pytest.mark.parametrize("value", (1.5, "1", None, np.zeros(2)))
def test_value_that_is_not_a_number_is_rejected(function: Find, value: object) -> None:
    with pytest.raises(TypeError):
        function("divided")(value, 1)


@pytest.mark.parametrize("count", (0, 1, 3))
def test_wrong_number_of_arguments_is_rejected(function: Find, count: int) -> None:
    with pytest.raises(TypeError, match=f"divided: {count} arguments, where `ii` is expected"):
        function("divided")(*range(1, count + 1))


def test_keyword_is_rejected(function: Find) -> None:
    with pytest.raises(TypeError, match="keyword"):
        function("divided")(1, by=1)


@pytest.mark.parametrize(
    "array",
    (
        SLAB.view(np.int8),
        SLAB.view(np.bool_),
        SLAB.view(np.int64),
        SLAB.reshape(4, 10),
        np.zeros((), np.uint8),
        7,
        None,
    ),
)
def test_array_of_another_type_is_rejected(function: Find, array: object) -> None:
    with pytest.raises(TypeError):
        function("stores")(array, 0, 0)


@pytest.mark.parametrize(
    "array", (WORDS.view(np.uint64), WORDS.view(np.float64), WORDS.astype(">i8"), TABLE)
)
def test_words_of_another_type_are_rejected(function: Find, array: object) -> None:
    with pytest.raises(TypeError, match="where `q` is expected"):
        function("waited")(array, 0)


@pytest.mark.parametrize("array", (np.zeros(80, np.uint8)[::2], np.zeros(40, np.uint8)[::-1]))
def test_array_with_gaps_is_rejected(function: Find, array: object) -> None:
    with pytest.raises(ValueError, match="contiguous"):
        function("stores")(array, 0, 0)


def test_read_only_array_is_rejected_if_it_is_written(function: Find) -> None:
    with pytest.raises(ValueError, match="read-only"):
        function("stores")(SOURCE, 0, 0)


@pytest.mark.parametrize("slabs", ((SLAB,), (SLAB, SLAB, SLAB), [SLAB, SLAB], SLAB))
def test_tuple_of_another_size_is_rejected(function: Find, slabs: object) -> None:
    with pytest.raises(TypeError, match="a tuple of 2 is expected"):
        function("measured")(slabs, WORDS, STARTS, TABLE)


def test_array_may_be_longer_than_its_least_size(function: Find) -> None:
    pair, table = (np.zeros(3, np.int64), np.zeros(5, np.int64)), np.zeros((2, 12), np.int64)

    assert function("sized")(pair, table) == 3 + 5 + 24


@pytest.mark.parametrize(
    ("sizes", "columns", "text"),
    (((3, 2), 12, "`q3`"), ((3, 3), 11, "`t12`"), ((3, 3), 13, "`t12`")),
)
def test_array_of_another_size_is_rejected(
    function: Find, sizes: tuple[int, int], columns: int, text: str
) -> None:
    pair = tuple(np.zeros(size, np.int64) for size in sizes)

    with pytest.raises(ValueError, match=f"sized: an array .* where {text} is expected"):
        function("sized")(pair, np.zeros((9, columns), np.int64))


def test_buffers_are_released_after_a_call_and_after_a_rejected_one(function: Find) -> None:
    buffer = bytearray(40)

    function("stores")(buffer, 0, 0)
    with pytest.raises(TypeError):
        function("stores")(buffer, 0, None)

    buffer.append(1)  # a held buffer would forbid it


def test_arguments_are_not_kept(function: Find) -> None:
    slab = np.zeros(40, np.uint8)
    before = sys.getrefcount(slab)

    function("stores")(slab, 0, 1)
    with pytest.raises(TypeError):
        function("stores")(slab, 0)

    assert sys.getrefcount(slab) == before


def test_docstring_is_the_letters_of_the_arguments(function: Find) -> None:
    assert function("sized").__doc__ == "(q3q3)t12"


def test_kernel_runs_without_the_gil(function: Find) -> None:
    """The kernel ends early only if this thread runs Python during it."""
    words, rounds = np.zeros(2, np.int64), 1 << 36
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(function("waited")(words, rounds)))

    thread.start()
    while not words[1]:
        pass
    words[0] = 1
    thread.join()

    assert found[0] != rounds
