"""Records become lines, and lines records."""

import json

import pytest

from cordwood.cli.record_text import Entry, LineError, LineForm, read_json, write_json
from cordwood.client.record_set import ConsumedRecord
from cordwood.records.record import Header, TimestampType

PAIRS = LineForm(b":", b"NULL")


def record(
    key: bytes | None, value: bytes | None, *headers: Header
) -> ConsumedRecord[bytes, bytes]:
    return ConsumedRecord("t", 1, 7, 1000, TimestampType.CREATE_TIME, key, value, headers, 3)


def test_line_is_a_value() -> None:
    assert LineForm().read(b"a:b\r\n") == Entry(None, b"a:b")
    assert LineForm().write(record(b"k", b"v")) == b"v\n"


def test_line_is_key_and_value_with_a_separator() -> None:
    assert PAIRS.read(b"a:b:c\n") == Entry(b"a", b"b:c")
    assert PAIRS.write(record(b"a", b"b")) == b"a:b\n"


def test_marker_stands_for_null_in_both_directions() -> None:
    assert PAIRS.read(b"NULL:NULL") == Entry(None, None)
    assert PAIRS.write(record(None, None)) == b"NULL:NULL\n"
    assert LineForm().write(record(None, None)) == b"null\n"


def test_line_without_the_separator_is_no_record() -> None:
    with pytest.raises(LineError, match="no key separator ':'"):
        PAIRS.read(b"a\n")


def test_json_has_all_that_a_record_has() -> None:
    told = json.loads(write_json(record(b"\xff", "ü".encode(), ("h", None), ("h", b"1"))))

    assert told == {
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


def test_json_that_was_printed_is_read_again() -> None:
    line = write_json(record(b"\xff", None, ("h", None)))

    assert read_json(line) == Entry(b"\xff", None, (("h", None),), 1, 1000)


@pytest.mark.parametrize(
    "line",
    (b"", b"{", b"[]", b'{"key": 1}', b'{"headers": [1]}', b'{"key": {"base64": "?"}}'),
)
def test_json_that_is_no_record_is_refused(line: bytes) -> None:
    with pytest.raises(LineError, match="no record as JSON"):
        read_json(line)
