"""Varints and checksums: test vectors and limits."""

import importlib.util
import sys
from array import array
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordwood.core import binary
from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.errors import BytesError

VECTORS = [
    (0, "00"),
    (-1, "01"),
    (1, "02"),
    (63, "7e"),
    (64, "8001"),
    (-64, "7f"),
    (-65, "8101"),
    (300, "d804"),
    (2**31 - 1, "feffffff0f"),
    (-(2**31), "ffffffff0f"),
]
LONG_VECTORS = [
    *VECTORS,
    (2**63 - 1, "feffffffffffffffff01"),
    (-(2**63), "ffffffffffffffffff01"),
]
READERS = [
    (binary.read_varint, 5),
    (binary.read_varlong, 10),
    (binary.read_unsigned_varint, 5),
]


@pytest.mark.parametrize(("value", "encoded"), VECTORS)
def test_varint_matches_the_vector(value: int, encoded: str) -> None:
    out = bytearray()

    binary.append_varint(out, value)

    assert out.hex() == encoded
    assert binary.read_varint(out, 0, len(out)) == (value, len(out))


@pytest.mark.parametrize(("value", "encoded"), LONG_VECTORS)
def test_varlong_matches_the_vector(value: int, encoded: str) -> None:
    out = bytearray()

    binary.append_varlong(out, value)

    assert out.hex() == encoded
    assert binary.read_varlong(out, 0, len(out)) == (value, len(out))


@given(st.integers(0, 2**32 - 1))
def test_unsigned_varint_round_trips(value: int) -> None:
    out = bytearray(b"before")

    binary.append_unsigned_varint(out, value)

    assert binary.read_unsigned_varint(memoryview(out), 6, len(out)) == (value, len(out))


@pytest.mark.parametrize(("read", "longest"), READERS)
@pytest.mark.parametrize("end", (0, 1, 3))
def test_reader_rejects_truncated_bytes(
    read: Callable[[Buffer, int, int], tuple[int, int]], longest: int, end: int
) -> None:
    with pytest.raises(BytesError, match=f"position 0.*{longest}.*found {end} bytes"):
        read(b"\x80\x80\x80\x00", 0, end)


@pytest.mark.parametrize(("read", "longest"), READERS)
def test_reader_rejects_a_varint_that_is_too_long(
    read: Callable[[Buffer, int, int], tuple[int, int]], longest: int
) -> None:
    with pytest.raises(BytesError, match=f"found {longest} bytes"):
        read(b"\xff" * longest + b"\x00", 0, longest + 1)


def test_reader_drops_bits_that_do_not_fit() -> None:
    assert binary.read_varint(b"\xff\xff\xff\xff\x7f", 0, 5) == (-(2**31), 5)
    assert binary.read_varlong(b"\xff" * 9 + b"\x7f", 0, 10) == (-(2**63), 10)


@pytest.mark.parametrize(
    ("append", "value"),
    (
        (binary.append_varint, 2**31),
        (binary.append_varint, -(2**31) - 1),
        (binary.append_varlong, 2**63),
        (binary.append_varlong, -(2**63) - 1),
        (binary.append_unsigned_varint, -1),
        (binary.append_unsigned_varint, 2**32),
    ),
)
def test_writer_rejects_a_value_out_of_range_and_writes_no_bytes(
    append: Callable[[bytearray, int], None], value: int
) -> None:
    out = bytearray(b"ab")

    with pytest.raises(BytesError, match=f"position 2.*found {value}"):
        append(out, value)

    assert out == b"ab"


def test_checksums_match_the_check_values_whole_and_in_parts() -> None:
    data = memoryview(bytearray(b"123456789"))

    assert binary.crc32c(data) == binary.crc32c(data[4:], binary.crc32c(data[:4])) == 0xE3069283
    assert binary.crc32(data) == binary.crc32(data[4:], binary.crc32(data[:4])) == 0xCBF43926


@pytest.mark.parametrize("missing", ("crc32c", "google_crc32c"))
def test_crc32c_is_the_same_when_one_wheel_is_missing(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    spec = importlib.util.find_spec("cordwood.core.binary")
    assert spec is not None
    assert spec.loader is not None

    fresh = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(fresh)
    except ImportError:
        pytest.skip("the other wheel is not installed")

    assert fresh.crc32c(memoryview(b"56789"), fresh.crc32c(b"1234")) == 0xE3069283


def test_bytes_view_has_unsigned_bytes_for_any_element_type() -> None:
    signed, wide = memoryview(b"\xff").cast("b"), memoryview(array("i", [1, 2]))

    assert bytes_view(signed)[0] == 255
    assert len(bytes_view(wide)) == wide.nbytes
    assert bytes(bytes_view(b"ab")) == b"ab"


def test_cached_varints_equal_appended_ones() -> None:
    ready = binary.CachedVarints(binary.append_varint)

    for number in (-1, 0, 63, 64, 8191, 8192, -2, binary.INT32_MAX):
        out = bytearray()
        binary.append_varint(out, number)
        assert ready[number] == ready[number] == bytes(out)


def test_cached_varints_reject_a_value_out_of_range() -> None:
    with pytest.raises(BytesError):
        binary.CachedVarints(binary.append_varint)[binary.INT32_MAX + 1]
