"""Generated readers: values, and rejected bytes."""

import pytest

from cordwood.core.errors import BytesError
from cordwood.core.uuids import Uuid
from cordwood.protocol.codec import decode, reader
from tests.unit.protocol.messages_of_tests import (
    Later,
    Lists,
    Node,
    Numbers,
    Part,
    Produced,
    Tagged,
    Texts,
)

UUID = Uuid(bytes(range(16)))
NUMBERS = "ff fffe ffff 00000003 ffffffff 0000000000000005 3fe0000000000000 02" + UUID.hex()


def test_reader_reads_every_number() -> None:
    found = decode(Numbers, bytes.fromhex(NUMBERS), 0)

    assert found == Numbers(
        tiny=-1,
        small=-2,
        port=0xFFFF,
        middle=3,
        count=0xFFFF_FFFF,
        large=5,
        share=0.5,
        is_so=True,
        uuid=UUID,
    )


def test_reader_reads_strings_and_bytes_in_the_old_form() -> None:
    data = bytes.fromhex("0001 61 ffff 00000001 62 ffffffff ffff")

    assert decode(Texts, data, 0) == Texts(name="a", blob=b"b", old=None)


def test_reader_reads_strings_and_bytes_in_the_compact_form() -> None:
    data = bytes.fromhex("02 61 00 02 62 00 0001 63 00")

    assert decode(Texts, data, 1) == Texts(name="a", blob=b"b", old="c")


def test_reader_reads_a_compact_length_of_several_bytes() -> None:
    data = bytes.fromhex("ad02") + b"n" * 300 + bytes.fromhex("00 01 00 ffff 00")

    assert decode(Texts, data, 1) == Texts(name="n" * 300, old=None)


@pytest.mark.parametrize(
    ("data", "version"),
    (
        ("00000002 00000001 00000002 00000001 0001 61 00000000 00000001 00000009", 0),
        ("03 00000001 00000002 02 02 61 01 02 00000009 01 00 00", 2),
    ),
)
def test_reader_reads_lists(data: str, version: int) -> None:
    expected = Lists(numbers=[1, 2], names=["a"], parts=[Part(index=9)])

    assert decode(Lists, bytes.fromhex(data), version) == expected


def test_reader_reads_a_null_list_once_it_may_be_null() -> None:
    data = bytes.fromhex("00000000 00000000 00000000 ffffffff")

    assert decode(Lists, data, 1).parts is None
    with pytest.raises(BytesError, match="unexpected null at position 16"):
        decode(Lists, data, 0)


def test_reader_reads_a_struct_behind_its_marker() -> None:
    assert decode(Tagged, bytes.fromhex("00000001 ff"), 0).node is None
    assert decode(Tagged, bytes.fromhex("00000001 01 00000007 ffff"), 0).node == Node(node_id=7)


def test_reader_reads_tagged_fields_in_any_order() -> None:
    data = bytes.fromhex("00000001 ff 02 01 06 00000007 00 00 00 02 02 61")

    assert decode(Tagged, data, 1) == Tagged(
        index=1, label="a", leader=Node(node_id=7), state=Node()
    )


def test_reader_distinguishes_a_null_tagged_struct_from_a_missing_one() -> None:
    absent, null = bytes.fromhex("00000001 ff 00"), bytes.fromhex("00000001 ff 01 02 01 00")

    assert decode(Tagged, absent, 1).state == Node()
    assert decode(Tagged, null, 1).state is None


def test_reader_keeps_unknown_tagged_fields() -> None:
    data = bytes.fromhex("00000001 ff 02 00 02 02 61 63 01 ee")

    assert decode(Tagged, data, 1).unknown_tags == ((99, b"\xee"),)


def test_reader_keeps_a_tag_that_its_version_does_not_have_yet() -> None:
    data = bytes.fromhex("00000001 ff 01 03 01 01")

    assert decode(Tagged, data, 1).unknown_tags == ((3, b"\x01"),)
    assert decode(Tagged, data, 2).unknown_tags == ()


def test_reader_rejects_a_tagged_field_longer_than_its_value() -> None:
    with pytest.raises(BytesError, match="tagged field of another size"):
        decode(Tagged, bytes.fromhex("00000001 ff 01 00 03 02 61 00"), 1)


def test_reader_uses_defaults_for_fields_that_the_version_lacks() -> None:
    assert decode(Later, bytes.fromhex("00000001 0000"), 1) == Later(kept=1)


def test_reader_shows_records_where_they_are() -> None:
    data = bytearray.fromhex("00000001 00000002 7878 00000003")

    found = decode(Produced, data, 0)
    data[8:10] = b"yy"

    assert isinstance(found.records, memoryview)
    assert found == Produced(before=1, records=b"yy", after=3)


def test_reader_starts_at_the_position_and_returns_its_end() -> None:
    read = reader(Later, 1)

    found, after = read(memoryview(bytes.fromhex("ffff 00000001 0000 ffff")), 2)

    assert found == Later(kept=1)
    assert after == 8


@pytest.mark.parametrize("cut", range(len(bytes.fromhex(NUMBERS))))
def test_reader_rejects_a_truncated_message(cut: int) -> None:
    with pytest.raises(BytesError, match="ends too early"):
        decode(Numbers, bytes.fromhex(NUMBERS)[:cut], 0)


@pytest.mark.parametrize(
    ("data", "version"),
    (
        ("7fffffff", 0),
        ("80000000", 0),
        ("ffffffff 7f", 2),
        ("ffffffffffff", 2),
        ("01 ffffff7f", 2),
        ("01 01 ffffff7f", 2),
        ("01 01 01 ffffff7f", 2),
        ("00000000 00000000 00000000 10000000", 0),
    ),
)
def test_reader_rejects_a_count_above_the_number_of_bytes(data: str, version: int) -> None:
    with pytest.raises(BytesError):
        decode(Lists, bytes.fromhex(data), version)


@pytest.mark.parametrize(
    ("data", "version"),
    (
        ("7fff 61", 0),
        ("ffff 61", 0),
        ("8000 61", 0),
        ("0000 ffff 7fffffff", 0),
        ("05 61", 1),
        ("00 61", 1),
        ("8180808008 61", 1),
    ),
)
def test_reader_rejects_a_length_above_the_number_of_bytes(data: str, version: int) -> None:
    with pytest.raises(BytesError):
        decode(Texts, bytes.fromhex(data), version)


def test_reader_rejects_text_that_is_not_utf_8() -> None:
    with pytest.raises(BytesError, match="not UTF-8 at position 2"):
        decode(Texts, bytes.fromhex("0001 ff ffff 00000000 ffffffff ffff"), 0)
