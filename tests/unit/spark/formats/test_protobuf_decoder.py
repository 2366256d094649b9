"""Decoding of Protobuf values with a schema id, and the errors of undecodable values."""

import pytest

pytest.importorskip("google.protobuf", reason="the extra spark is not installed")

from cordwood.spark.formats.protobuf_decoder import ProtobufDecoder
from cordwood.spark.formats.schema_framing import frame_header
from tests.unit.spark.formats.protobuf_samples import FIRST, file_of, given

pytestmark = pytest.mark.spark

WIDER = FIRST.replace("message_type {", 'message_type { name: "Before" } message_type {', 1)


def decoder() -> ProtobufDecoder:
    """Return a decoder of schemas 1 and 2, to messages of schema 1."""
    return ProtobufDecoder(given(_1=file_of(FIRST), _2=file_of(WIDER)), 1)


@pytest.mark.parametrize("value", ("0000000001000807", "000000000202020807"))
def test_value_is_decoded_whatever_the_place_of_its_type(value: str) -> None:
    number, record, error = decoder().decode(bytes.fromhex(value))

    assert (record, error) == ({"id": 7}, None)
    assert number == int(value[9])


def test_unknown_fields_are_skipped() -> None:
    assert decoder().decode(bytes.fromhex("00000000010008071007")).record == {"id": 7}


def test_tombstone_has_neither_record_nor_error() -> None:
    assert decoder().decode(None) == (None, None, None)


@pytest.mark.parametrize(
    ("value", "number", "error_text"),
    (
        (b"{}", None, "no schema id (begins with 7b7d)"),
        (frame_header(9), 9, "schema 9: not among the given schemas"),
        (frame_header(1), 1, "schema 1: message indexes are not complete"),
        (frame_header(1) + b"\2\x0a", 1, "schema 1: message indexes [5] are not in the schema"),
        (frame_header(1) + b"\2\2", 1, "schema 1: a message of type shop.Other, not shop.Order"),
        (frame_header(1) + b"\0\x08", 1, "schema 1: "),
    ),
)
def test_undecodable_value_has_an_error(value: bytes, number: int | None, error_text: str) -> None:
    found = decoder().decode(value)

    assert (found.schema_id, found.record) == (number, None)
    assert (found.error or "").startswith(error_text)
