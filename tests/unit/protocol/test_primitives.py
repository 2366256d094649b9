"""Helpers of generated code: long lengths, tagged fields, errors."""

import pytest

from cordwood.core.errors import BytesError, UnsupportedVersionError
from cordwood.protocol import primitives


def test_layouts_are_cached_only_for_short_arrays() -> None:
    arrays = primitives.ArrayLayouts("i")

    assert arrays[2].pack(1, 2) == bytes.fromhex("0000000100000002")
    assert arrays[1000].size == 4000
    assert list(arrays) == [2]


def test_string_length_above_kafkas_limit_is_rejected() -> None:
    data = memoryview(bytes.fromhex("808002 818002"))

    assert primitives.read_string_length(data, 0, 6) == (0x8000, 3)
    with pytest.raises(BytesError, match="beyond its limit"):
        primitives.read_string_length(data, 3, 6)
    with pytest.raises(BytesError, match="beyond its limit"):
        primitives.tail_of_string_length(0x8001)


def test_unknown_tags_are_read_with_their_count() -> None:
    data = memoryview(bytes.fromhex("02 05 02 6162 80 01 00 ff"))

    assert primitives.read_unknown_tags(data, 0, 9) == (((5, b"ab"), (128, b"")), 8)


def test_tag_that_ends_beyond_the_bytes_is_rejected() -> None:
    with pytest.raises(BytesError, match="beyond its limit at position 2"):
        primitives.read_tag(memoryview(b"\x01\x05ab"), 0, 4)


def test_tags_are_written_in_their_order() -> None:
    assert primitives.tail_of_tags(((5, b"ab"), (1, b""))) == bytes.fromhex("0100 05026162")


def test_length_of_several_bytes_continues_after_its_first() -> None:
    assert primitives.tail_of_length(300) == b"\x02"
    assert primitives.tail_of_length(0x7FFF_FFFF).hex() == "ffffff07"


def test_records_join_the_bytes_around_them_when_they_are_few() -> None:
    out = bytearray(b"a")
    chunks: list[primitives.Chunk] = [out]

    after = primitives.put_records(chunks, b"b")

    assert after is out
    assert chunks == [b"ab"]


def test_records_stay_untouched_when_they_are_many() -> None:
    out, records = bytearray(b"a"), bytes(primitives.JOINED_BYTES + 1)
    chunks: list[primitives.Chunk] = [out]

    after = primitives.put_records(chunks, records)

    assert chunks[1] is records
    assert chunks[2] is after


def test_errors_describe_the_problem() -> None:
    with pytest.raises(BytesError, match="unexpected null"):
        primitives.refuse_length(3, -1, most=10)
    with pytest.raises(BytesError, match="uuid of another size"):
        primitives.refuse_uuid(b"short")
    with pytest.raises(BytesError, match="tagged field of another size"):
        primitives.refuse_tag_end(5, 6)
    with pytest.raises(UnsupportedVersionError, match="Hi v3 has no field for name"):
        primitives.refuse_field("name", "Hi v3")
