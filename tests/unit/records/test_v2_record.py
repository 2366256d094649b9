"""One v2 record: exact bytes both ways, and checked lengths."""

import pytest

from cordwood.core.errors import BytesError
from cordwood.records.v2_record import append_v2_record, read_v2_record, wrap_int64

K1_V1 = "14 00 00 00 04 6b31 04 7631 00"
TOMBSTONE = "10 00 0a 02 04 6b32 01 00"
BEFORE_HORIZON = "16 00 a59aea55 02 04 6b32 01 00"
TWO_HEADERS = "18 00 00 00 01 01 04 02 61 02 78 00 01"


@pytest.mark.parametrize(
    ("text", "fields"),
    (
        (K1_V1, (0, 0, b"k1", b"v1", ())),
        (TOMBSTONE, (5, 1, b"k2", None, ())),
        (BEFORE_HORIZON, (1005 - 90_000_000, 1, b"k2", None, ())),
        (TWO_HEADERS, (0, 0, None, None, (("a", b"x"), ("", None)))),
    ),
)
def test_record_is_the_same_bytes_both_ways(text: str, fields: tuple[object, ...]) -> None:
    data = bytes.fromhex(text)

    record = read_v2_record(data, 0, len(data))
    out = bytearray()
    append_v2_record(
        out,
        timestamp_delta=record.timestamp_delta,
        offset_delta=record.offset_delta,
        key=record.key,
        value=record.value,
        headers=record.headers,
    )

    assert record == (*fields, len(data))
    assert out == data


@pytest.mark.parametrize(
    ("text", "problem"),
    (
        ("", "varint without an end"),
        ("0a 00 00 00 01 01 00", "record length"),
        ("01 00 00 00 01 01 00", "record length"),
        ("0e 00 00 00 01 01 00", "record length"),
        ("0e 00 00 00 01 01 00 00", "longer than its fields"),
        ("0c 00 00 00 06 01 00", "length beyond its record"),
        ("0c 00 00 00 01 80 80", "varint without an end"),
        ("0c 00 00 00 01 01 01", "header count"),
        ("0c 00 00 00 01 01 02", "header count"),
        ("10 00 00 00 01 01 02 01 01", "null header key"),
        ("10 00 00 00 01 01 02 02 61", "varint without an end"),
        ("0e 00 00 00 01 01 04 00", "header count"),
    ),
)
def test_record_with_a_wrong_length_is_rejected(text: str, problem: str) -> None:
    data = bytes.fromhex(text)

    with pytest.raises(BytesError, match=problem):
        read_v2_record(data, 0, len(data))


def test_record_reads_header_keys_that_are_not_utf8_like_java() -> None:
    data = bytes.fromhex("16 00 00 00 01 01 02 06 ff fe 61 01")

    assert read_v2_record(data, 0, len(data)).headers == (("\ufffd\ufffda", None),)


def test_record_reads_any_negative_length_as_null_like_kafka() -> None:
    data = bytes.fromhex("0c 00 00 00 03 05 00")

    record = read_v2_record(data, 0, len(data))

    assert (record.key, record.value) == (None, None)


def test_record_never_reads_past_the_end_when_more_bytes_follow() -> None:
    data = bytes.fromhex(K1_V1)

    with pytest.raises(BytesError, match="record length"):
        read_v2_record(data + data, 0, len(data) - 1)


@pytest.mark.parametrize(
    ("key", "problem"), (("a\ud800", "UTF-8 cannot encode"), (b"a", "is not text"))
)
def test_header_key_that_is_not_utf8_is_rejected(key: str, problem: str) -> None:
    out = bytearray()

    with pytest.raises(BytesError, match=problem):
        append_v2_record(
            out, timestamp_delta=0, offset_delta=0, key=None, value=None, headers=[(key, b"")]
        )

    assert not out


@pytest.mark.parametrize(
    ("number", "wrapped"),
    ((5, 5), (1 << 63, -1 << 63), (-(1 << 63) - 1, (1 << 63) - 1), (-1, -1)),
)
def test_wrap_int64_wraps_around(number: int, wrapped: int) -> None:
    assert wrap_int64(number) == wrapped
