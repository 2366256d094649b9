"""Varints, lengths, UTF-8 and headers of one record: every one compared with what is left."""

import numpy as np
import pytest

from cordwood.core.binary import append_varint, append_varlong
from cordwood.records.kernels.numba_jit import Bytes
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
    utf8,
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
def test_varint_is_what_was_written(number: int) -> None:
    out = bytearray(b"..")
    append_varint(out, number)

    assert varint(source_of(out + b".."), 2, len(out) + 2) == (number, len(out))


@pytest.mark.parametrize("number", INT64S)
def test_varlong_is_what_was_written(number: int) -> None:
    out = bytearray(b"..")
    append_varlong(out, number)

    assert varlong(source_of(out + b".."), 2, len(out) + 2) == (number, len(out))


@pytest.mark.parametrize("data", (b"", b"\x80", b"\x80\x80", b"\xff" * 10))
def test_varint_ends_at_minus_one_when_it_is_cut_or_too_long(data: bytes) -> None:
    assert varint(source_of(data), 0, len(data))[1] == -1


@pytest.mark.parametrize("data", (b"", b"\x80", b"\xff" * 11))
def test_varlong_ends_at_minus_one_when_it_is_cut_or_too_long(data: bytes) -> None:
    assert varlong(source_of(data), 0, len(data))[1] == -1


def test_numbers_end_at_minus_one_when_what_came_before_did() -> None:
    source = source_of(b"\x02\x02")

    assert varint(source, -1, 2) == (0, -1)
    assert varlong(source, -1, 2) == (0, -1)
    assert skip(-1, 1, 2) == -1


@pytest.mark.parametrize(("size", "after"), ((0, 3), (7, 10), (8, -1), (1 << 31, -1), (-1, 3)))
def test_skip_goes_as_far_as_there_are_bytes(size: int, after: int) -> None:
    assert skip(3, size, 10) == after


@pytest.mark.parametrize(
    "text", ("", "plain", "é", "\u07ff\u0800", "\ud7ff\ue000\uffff", "\U00010000\U0010ffff")
)
def test_utf8_is_taken_when_python_takes_it(text: str) -> None:
    data = text.encode()

    assert utf8(source_of(data), 0, len(data)) == len(data)


@pytest.mark.parametrize(
    "data",
    (
        b"\x80",
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xc3",
        b"\xc3\x28",
        b"\xe0\x9f\xbf",
        b"\xed\xa0\x80",
        b"\xe2\x82",
        b"\xf0\x8f\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"\xff",
    ),
)
def test_utf8_is_refused_when_python_refuses_it(data: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        data.decode()

    assert utf8(source_of(b"a" + data), 0, 1 + len(data)) == -1


def test_headers_are_counted_with_their_bytes() -> None:
    data = record()
    found = read_record(source_of(data), 0, len(data))

    after, count, size = walk_headers(source_of(data), found[R_TAIL], len(data))

    assert (after, count, size) == (len(data), 2, 4)


@pytest.mark.parametrize(
    "data",
    (b"", b"\x01", b"\x02", b"\x02\x01\x00", b"\x02\x04a", b"\x02\x02a", b"\x02\x02a\x04b"),
    ids=("none", "count < 0", "no key", "null key", "short key", "no value", "short value"),
)
def test_headers_end_at_minus_one_when_they_are_unsound(data: bytes) -> None:
    assert walk_headers(source_of(data), 0, len(data)) == (-1, 0, 0)


def test_record_says_where_everything_lies() -> None:
    data = b".." + record()

    found = read_record(source_of(data + b"...."), 2, len(data) + 4)

    assert found[R_STOP] == len(data)
    assert (found[R_TIMESTAMP], found[R_OFFSET], found[R_KEY_SIZE]) == (-5, 70, -1)
    assert data[found[R_VALUE] :][: found[R_VALUE_SIZE]] == b"value"
    assert (found[R_HEADERS], found[R_HEADER_BYTES]) == (2, 4)


@pytest.mark.parametrize("cut", range(1, 10))
def test_record_is_unsound_when_it_is_cut(cut: int) -> None:
    data = record()[:-cut]

    assert read_record(source_of(data), 0, len(data))[R_STOP] == -1


@pytest.mark.parametrize("by", (-1, 1))
def test_record_is_unsound_when_its_length_is_not_that_of_its_parts(by: int) -> None:
    data = bytearray(record() + b"\0\0")
    data[0] += 2 * by

    assert read_record(source_of(data), 0, len(data))[R_STOP] == -1


def test_record_is_unsound_when_it_is_too_short_to_be_one() -> None:
    assert read_record(source_of(b"\x0a\0\0\0\0\0"), 0, 6)[R_STOP] == -1
