"""Messages of the old formats as Kafka's dump tool prints them, alone and in a wrapper."""

import pytest

from cordwood.core.errors import BadRecordsError
from cordwood.records.compression import Codec, compress
from cordwood.records.legacy_message import LegacyMessage, append_message
from cordwood.records.record_lines import LineStyle, RecordLines
from cordwood.workbench.dump.legacy_message_lines import message_lines
from tests.unit.records.segments import changed, legacy
from tests.unit.workbench.dump_samples import dumped

DATA = LineStyle(has_data=True)


def lines(data: bytes, style: LineStyle | None = None) -> RecordLines:
    return message_lines(dumped(data), style or LineStyle(), previous=-1)


def message(offset: int, value: bytes | None, *, magic: int = 1, attributes: int = 0) -> bytes:
    out = bytearray()
    append_message(out, LegacyMessage(offset, 0, magic, attributes, 7, None, _view(value)))
    return bytes(out)


def _view(value: bytes | None) -> memoryview | None:
    return None if value is None else memoryview(value)


def wrapper(offset: int, inside: bytes, *, magic: int = 1, attributes: int = 1) -> bytes:
    packed = bytes(compress(Codec.GZIP, inside, magic=magic))
    return message(offset, packed, magic=magic, attributes=attributes)


def test_line_of_a_message_ends_with_its_checksum() -> None:
    data = legacy(1, b"v", base_offset=3)

    assert lines(data).text.decode() == (
        "| offset: 3 CreateTime: 1000 keySize: -1 valueSize: 1 isValid: true"
        f" crc: {int.from_bytes(data[12:16])}\n"
    )


def test_line_of_a_message_shows_its_value() -> None:
    assert lines(legacy(0, b"v"), DATA).text.endswith(b" payload: v\n")
    assert lines(legacy(0, b"v"), LineStyle(has_metadata=False)).text == b"\n"


def test_messages_in_a_wrapper_have_their_own_lines() -> None:
    found = lines(legacy(0, b"a", b"b", base_offset=5, codec=Codec.GZIP), DATA)

    assert found.text.count(b"| offset: ") == 2
    assert (found.last_offset, found.gaps) == (6, [(-1, 5)])


def test_offsets_in_a_newer_wrapper_count_back_from_its_own() -> None:
    inside = message(0, b"a") + message(4, b"b")

    assert lines(wrapper(30, inside)).gaps == [(-1, 26), (26, 30)]
    assert lines(wrapper(0, inside)).gaps == [(0, 4)]


def test_wrapper_with_log_append_time_sets_the_time_of_its_messages() -> None:
    inside = message(0, b"a") + message(1, b"b", magic=0)

    text = lines(wrapper(1, inside, attributes=9)).text

    assert text.count(b"LogAppendTime: 7 ") == 1
    assert text.count(b"LogAppendTime: -1 ") == 1


def test_truncated_message_in_a_wrapper_is_left_out() -> None:
    inside = message(0, b"a") + message(1, b"b")

    assert lines(wrapper(0, inside[:-1])).text.count(b"\n") == 1


@pytest.mark.parametrize(
    ("data", "words"),
    (
        (wrapper(5, b""), "an empty wrapper"),
        (message(5, None, attributes=1), "an unreadable wrapper"),
        (message(5, b"x", attributes=4), "an unreadable wrapper"),
        (message(5, b"no gzip", attributes=1), "gzip"),
        (wrapper(5, b"\0" * 12), "message size"),
        (wrapper(5, message(9, b"a")), "an impossible last offset inside"),
        (wrapper(5, message(0, b"a", attributes=1)), "compression inside"),
        (changed(message(5, b"a"), 26, b"\x7f\0\0\0"), "no room for a length"),
        (
            message(5, b"")[:8] + (14).to_bytes(4) + message(5, b"")[12:26],
            "too short for its fields",
        ),
    ),
)
def test_fault_ends_the_lines(data: bytes, words: str) -> None:
    found = lines(data)

    assert isinstance(found.error, BadRecordsError)
    assert words in str(found.error)


def test_line_of_a_value_beyond_its_message_is_incomplete() -> None:
    data = changed(message(5, b"a"), 30, b"\0\0\0\x09")

    assert lines(data).error is None
    assert lines(data, DATA).text.endswith(b" crc: %d" % int.from_bytes(data[12:16]))
