"""Records are formatted as lines and parsed from lines."""

import json

import pytest

from cordwood.cli.line_format import LineError, LineFormat, LineRecord, read_json, write_json
from cordwood.client.consumer.completed_fetch import ConsumedRecord
from cordwood.records.record import Header, TimestampType

PAIRS = LineFormat(b":", b"NULL")


def record(
    key: bytes | None, value: bytes | None, *headers: Header
) -> ConsumedRecord[bytes, bytes]:
    return ConsumedRecord("t", 1, 7, 1000, TimestampType.CREATE_TIME, key, value, headers, 3)


def test_line_is_a_value() -> None:
    assert LineFormat().read(b"a:b\r\n") == LineRecord(None, b"a:b")
    assert LineFormat().write(record(b"k", b"v")) == b"v\n"


def test_line_is_key_and_value_with_a_separator() -> None:
    assert PAIRS.read(b"a:b:c\n") == LineRecord(b"a", b"b:c")
    assert PAIRS.write(record(b"a", b"b")) == b"a:b\n"


def test_marker_represents_null_in_both_directions() -> None:
    assert PAIRS.read(b"NULL:NULL") == LineRecord(None, None)
    assert PAIRS.write(record(None, None)) == b"NULL:NULL\n"
    assert LineFormat().write(record(None, None)) == b"null\n"


def test_line_without_the_separator_is_rejected() -> None:
    with pytest.raises(LineError, match="has no key separator ':'"):
        PAIRS.read(b"a\n")


def test_json_contains_every_field() -> None:
    parsed = json.loads(write_json(record(b"\xff", "ü".encode(), ("h", None), ("h", b"1"))))

    assert parsed == {
        "topic": "t",
        "partition": 1,
        "offset": 7,
        "timestamp": 1000,
        "timestamp_type": "CreateTime",
        "leader_epoch": 3,
        "key": {"base64": "/w=="},
        "value": "ü",
        "headers": [["h", None], ["h", "1"]],
    }


def test_printed_json_is_parsed_again() -> None:
    line = write_json(record(b"\xff", None, ("h", None)))

    assert read_json(line) == LineRecord(b"\xff", None, (("h", None),), 1, 1000)


@pytest.mark.parametrize(
    ("line", "problem"),
    (
        (b"", "the line is not JSON"),
        (b"{", "the line is not JSON"),
        (b"[]", "the line is not a JSON object, such as"),
        (b'{"value": 1}', "the field 'value' must be text, null or .*, and not 1"),
        (b'{"value": "v", "key": {"base64": "?"}}', "the field 'key' must be text, null or "),
        (b'{"value": "v", "headers": [1]}', "the field 'headers' must be a list of"),
        (b'{"value": "v", "headers": [["a", 1]]}', "the field 'headers' must be text, null"),
        (b'{"value": "v", "partition": "1"}', "the field 'partition' must be a whole number"),
        (b'{"value": "v", "timestamp": true}', "whole number, and not true"),
    ),
)
def test_json_that_is_not_a_record_is_rejected(line: bytes, problem: str) -> None:
    with pytest.raises(LineError, match=problem):
        read_json(line)


def test_explicit_null_is_a_tombstone() -> None:
    assert read_json(b'{"key": "k", "value": null}') == LineRecord(b"k", None)


@pytest.mark.parametrize(
    ("line", "problem"),
    (
        (b'{"key": "k", "vlaue": "v"}', "unknown field 'vlaue' \\(did you mean 'value'\\?\\)"),
        (b'{"value": "v", "colour": 1}', "unknown field 'colour' \\(known: topic, partition, "),
        (b'{"key": "k"}', "has no field 'value' \\(a tombstone has \"value\": null\\)"),
    ),
)
def test_object_that_would_be_a_tombstone_by_mistake_is_rejected(line: bytes, problem: str) -> None:
    with pytest.raises(LineError, match=problem):
        read_json(line)
