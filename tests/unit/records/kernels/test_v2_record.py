"""Varints, lengths, UTF-8 and headers of one record, each within the remaining bytes."""

import numpy as np
import pytest

from cordwood.core.binary import append_varint, append_varlong
from cordwood.records.kernels.kernel_definition import Bytes
from cordwood.records.kernels.v2_record import (
    R_HEADER_BYTES,
    R_HEADERS,
    R_KEY_SIZE,
    R_OFFSET,
    R_STOP,
    R_TAIL,
    R_TIMESTAMP,
    R_VALUE,
    R_VALUE_SIZE,
    read_record,
    skip,
    varint,
    varlong,
    walk_headers,
)
from cordwood.records.v2_record import append_v2_record

INT32S = (0, -1, 63, -64, 64, 8191, -8192, 8192, 1 << 20, -(1 << 31), (1 << 31) - 1)
INT64S = (*INT32S, 1 << 31, -(1 << 63), (1 << 63) - 1)


def source_of(data: bytes | bytearray) -> Bytes:
    source = np.frombuffer(bytes(data), np.uint8)
    source.flags.writeable = False
    return source


def record(headers: tuple[tuple[str, bytes | None], ...] = (("h", b"12"), ("n", None))) -> bytes:
    out = bytearray()
    append_v2_record(
        out, timestamp_delta=-5, offset_delta=70, key=None, value=b"value", headers=headers
    )
    return bytes(out)


@pytest.mark.parametrize("number", INT32S)
def test_varint_is_decoded(number: int) -> None:
    out = bytearray(b"..")
    append_varint(out, number)

    assert varint(source_of(out + b".."), 2, len(out) + 2) == (number, len(out))


@pytest.mark.parametrize("number", INT64S)
def test_varlong_is_decoded(number: int) -> None:
    out = bytearray(b"..")
    append_varlong(out, number)

    assert varlong(source_of(out + b".."), 2, len(out) + 2) == (number, len(out))


@pytest.mark.parametrize("data", (b"", b"\x80", b"\x80\x80", b"\xff" * 10))
def test_varint_that_is_truncated_or_too_long_is_invalid(data: bytes) -> None:
    assert varint(source_of(data), 0, len(data))[1] == -1


@pytest.mark.parametrize("data", (b"", b"\x80", b"\xff" * 11))
def test_varlong_that_is_truncated_or_too_long_is_invalid(data: bytes) -> None:
    assert varlong(source_of(data), 0, len(data))[1] == -1


def test_number_after_an_invalid_one_is_invalid() -> None:
    source = source_of(b"\x02\x02")

    assert varint(source, -1, 2) == (0, -1)
    assert varlong(source, -1, 2) == (0, -1)
    assert skip(-1, 1, 2) == -1


@pytest.mark.parametrize(("size", "after"), ((0, 3), (7, 10), (8, -1), (1 << 31, -1), (-1, 3)))
def test_skip_ends_within_the_available_bytes(size: int, after: int) -> None:
    assert skip(3, size, 10) == after


def test_headers_are_counted_with_their_bytes() -> None:
    data = record()
    found = read_record(source_of(data), 0, len(data))

    after, count, size = walk_headers(source_of(data), found[R_TAIL], len(data))

    assert (after, count, size) == (len(data), 2, 4)


def test_header_keys_that_are_not_utf8_count_as_their_text_in_java() -> None:
    data = b"\x02\x04\xff\xfe\x04ab"

    assert walk_headers(source_of(data), 0, len(data)) == (len(data), 1, 6 + 2)


@pytest.mark.parametrize(
    "data",
    (b"", b"\x01", b"\x02", b"\x02\x01\x00", b"\x02\x04a", b"\x02\x02a", b"\x02\x02a\x04b"),
    ids=("none", "count < 0", "no key", "null key", "short key", "no value", "short value"),
)
def test_invalid_headers_are_rejected(data: bytes) -> None:
    assert walk_headers(source_of(data), 0, len(data)) == (-1, 0, 0)


def test_record_has_the_positions_of_its_fields() -> None:
    data = b".." + record()

    found = read_record(source_of(data + b"...."), 2, len(data) + 4)

    assert found[R_STOP] == len(data)
    assert (found[R_TIMESTAMP], found[R_OFFSET], found[R_KEY_SIZE]) == (-5, 70, -1)
    assert data[found[R_VALUE] :][: found[R_VALUE_SIZE]] == b"value"
    assert (found[R_HEADERS], found[R_HEADER_BYTES]) == (2, 4)


@pytest.mark.parametrize("cut", range(1, 10))
def test_truncated_record_is_invalid(cut: int) -> None:
    data = record()[:-cut]

    assert read_record(source_of(data), 0, len(data))[R_STOP] == -1


@pytest.mark.parametrize("by", (-1, 1))
def test_record_whose_length_differs_from_its_fields_is_invalid(by: int) -> None:
    data = bytearray(record() + b"\0\0")
    data[0] += 2 * by

    assert read_record(source_of(data), 0, len(data))[R_STOP] == -1


def test_record_that_is_too_short_is_invalid() -> None:
    assert read_record(source_of(b"\x0a\0\0\0\0\0"), 0, 6)[R_STOP] == -1
