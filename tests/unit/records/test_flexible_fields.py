"""The flexible encoding of control records: exact bytes, and checked lengths."""

import pytest

from cordwood.core.errors import BytesError
from cordwood.records.flexible_fields import FlexibleReader, FlexibleWriter


def test_flexible_fields_round_trip_in_order() -> None:
    out = FlexibleWriter()
    out.i16(-2)
    out.u16(65535)
    out.i32(-3)
    out.i64(1 << 40)
    out.uuid(bytes(range(16)))
    out.string("né")
    out.length(2)
    out.i16(1)
    out.i16(2)
    out.no_tags()

    reader = FlexibleReader(bytes(out.data))

    assert (reader.i16(), reader.u16(), reader.i32(), reader.i64()) == (-2, 65535, -3, 1 << 40)
    assert (reader.uuid(), reader.string()) == (bytes(range(16)), "né")
    assert reader.array(reader.i16) == (1, 2)
    reader.tags()
    assert reader.position == len(out.data)


def test_flexible_reader_skips_the_tags_of_newer_writers() -> None:
    reader = FlexibleReader(bytes.fromhex("02 00 02 abcd 07 00 0009"))

    reader.tags()

    assert reader.i16() == 9


@pytest.mark.parametrize(
    ("text", "problem"),
    (("00", "null"), ("04 6162", "beyond the end"), ("02 ff", "not UTF-8"), ("", "varint")),
)
def test_flexible_string_with_a_wrong_length_is_rejected(text: str, problem: str) -> None:
    with pytest.raises(BytesError, match=problem):
        FlexibleReader(bytes.fromhex(text)).string()


def test_flexible_array_with_too_large_a_count_is_rejected_before_allocation() -> None:
    reader = FlexibleReader(bytes.fromhex("ffffff7f 0000"))

    with pytest.raises(BytesError, match="expected at most 2, found 268435454"):
        reader.array(reader.i16)


def test_flexible_writer_rejects_a_uuid_of_another_size() -> None:
    with pytest.raises(BytesError, match="expected 16 bytes, found 15"):
        FlexibleWriter().uuid(bytes(15))


def test_flexible_writer_rejects_values_out_of_range() -> None:
    out = FlexibleWriter()

    with pytest.raises(BytesError, match="expected an unsigned number of 16 bits, found 70000"):
        out.u16(70_000)
    with pytest.raises(BytesError, match=r"whole characters, found '.ud800'"):
        out.string("a\ud800")

    assert out.data == b""
