"""Generated writers: bytes, and values that a version cannot hold."""

import pytest

from cordwood.core.errors import BytesError, UnsupportedVersionError
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.codec import encode, size_of
from cordwood.protocol.schema import Message
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


def written(message: Message, version: int) -> str:
    """Return the encoded bytes of a message without record sets."""
    (chunk,) = encode(message, version)
    assert isinstance(chunk, bytearray)
    return chunk.hex()


def test_message_without_fields_is_written_as_no_bytes() -> None:
    class Empty(Message, versions=(0, 0)):
        """A message without fields."""

    assert written(Empty(), 0) == ""


def test_writer_writes_every_number() -> None:
    message = Numbers(tiny=-1, small=-2, port=0xFFFF, middle=3, count=4, large=5, is_so=True)

    assert (
        written(message, 0)
        == ("fffffeffff00000003000000040000000000000005000000000000000001") + NO_UUID.hex()
    )


def test_writer_writes_strings_and_bytes_in_both_forms() -> None:
    message = Texts(name="é", blob=b"b", old="c")

    assert written(message, 0) == "0002c3a9ffff0000000162ffffffff000163"
    assert written(message, 1) == "03c3a90002620000016300"


def test_writer_writes_a_compact_length_of_several_bytes() -> None:
    assert written(Texts(name="n" * 126), 1).startswith("7f6e")
    assert written(Texts(name="n" * 127), 1).startswith("80016e")


def test_writer_writes_lists_in_both_forms() -> None:
    message = Lists(numbers=[1], names=["a"], uuids=[NO_UUID], parts=[Part(index=9)])

    old = "00000001000000010000000100016100000001" + NO_UUID.hex()
    assert written(message, 0) == old + "0000000100000009"
    compact = "020000000102026102" + NO_UUID.hex()
    assert written(message, 2) == compact + "0200000009010000"


def test_writer_writes_a_long_list_of_numbers() -> None:
    data = written(Lists(numbers=[7] * 200), 2)

    assert data == "c901" + "00000007" * 200 + "01010100"


def test_writer_writes_null_where_it_may() -> None:
    assert written(Lists(parts=None), 1).endswith("ffffffff")
    assert written(Lists(parts=None), 2).endswith("0000")
    with pytest.raises(BytesError, match="cannot hold"):
        encode(Lists(parts=None), 0)


def test_writer_writes_tagged_fields_that_are_not_the_default() -> None:
    assert written(Tagged(state=Node()), 1) == "00000000ff00"
    assert written(Tagged(label="a", leader=Node(), state=Node()), 1) == (
        "00000000ff02000202610106ffffffff0000"
    )


def test_writer_marks_a_tagged_struct_that_declares_null() -> None:
    assert written(Tagged(state=None), 1) == "00000000ff01020100"
    assert written(Tagged(state=Node(node_id=1)), 1) == ("00000000ff01020701000000010000")


def test_unknown_tags_are_written_in_tag_order() -> None:
    message = Tagged(label="a", state=Node(), numbers=[])
    message.unknown_tags = ((99, b"\xee"),)

    assert written(message, 1) == "00000000ff02000202616301ee"


def test_writer_writes_a_struct_behind_its_marker() -> None:
    assert written(Tagged(node=Node(rack="r"), state=Node()), 0) == ("0000000001ffffffff000172")


def test_writer_hands_large_record_sets_on_untouched() -> None:
    records = bytes(10_000)

    chunks = encode(Produced(before=1, records=records, after=2), 0)

    assert [size_of([chunk]) for chunk in chunks] == [8, 10_000, 4]
    assert chunks[1] is records


def test_writer_joins_small_record_sets_with_the_rest() -> None:
    assert written(Produced(records=b"x"), 0) == "00000000000000017800000000"
    assert written(Produced(records=None), 1) == "00000000000000000000"


def test_writer_rejects_a_field_that_its_version_lacks() -> None:
    with pytest.raises(UnsupportedVersionError, match="Later v0 has no field for come"):
        encode(Later(kept=1, come="x"), 0)
    with pytest.raises(UnsupportedVersionError, match="Later v1 has no field for gone"):
        encode(Later(kept=1, gone=3), 1)


def test_writer_rejects_tagged_fields_in_a_version_without_them() -> None:
    message = Tagged(state=Node())
    message.unknown_tags = ((99, b"x"),)

    with pytest.raises(UnsupportedVersionError, match="Tagged v0 has no field for tagged fields"):
        encode(message, 0)


def test_writer_drops_ignorable_fields() -> None:
    assert written(Later(kept=1, hint=3), 1) == "000000010000"


def test_writer_rejects_values_out_of_range() -> None:
    for message in (
        Numbers(tiny=200),
        Numbers(uuid=Uuid(b"short")),
        Texts(name="n" * 0x8000),
        Texts(name="\ud800"),
    ):
        with pytest.raises(BytesError):
            encode(message, 1)
