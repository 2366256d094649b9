"""One v0 or v1 message: exact bytes both ways, and checked lengths."""

import pytest

from cordwood.core.errors import BytesError
from cordwood.records.legacy_message import (
    LegacyMessage,
    append_message,
    message_crc,
    message_size,
    read_message,
)

V0 = "0000000000000000 00000010 1fecd70a 00 00 00000001 6b 00000001 76"
V1 = "0000000000000000 00000018 e4e321bc 01 00 00000000000003e8 00000001 6b 00000001 76"
V0_NULLS = "0000000000000007 0000000e 00000000 00 00 ffffffff ffffffff"


@pytest.mark.parametrize(("text", "timestamp"), ((V0, -1), (V1, 1000)))
def test_message_is_the_same_bytes_both_ways(text: str, timestamp: int) -> None:
    data = memoryview(bytes.fromhex(text))

    message = read_message(data, 0, message_size(data, 0, len(data)))
    out = bytearray()
    append_message(out, message)

    assert message.timestamp == timestamp
    assert [bytes(part or b"") for part in message[-2:]] == [b"k", b"v"]
    assert message.crc == message_crc(data, 0, len(data))
    assert out == data


def test_message_keeps_null_apart_from_empty() -> None:
    out = bytearray()
    append_message(out, LegacyMessage(7, 0, 0, 0, -1, None, memoryview(b"")))

    message = read_message(memoryview(out), 0, len(out))

    assert (message.offset, message.key) == (7, None)
    assert message.value is not None
    assert bytes(message.value) == b""


@pytest.mark.parametrize(
    ("text", "problem"),
    (
        (V0[:40], "no room for a message"),
        (V0.replace("0a 00 00", "0a 02 00"), "not an old message"),
        (V0.replace("00000010", "0000000d"), "message size"),
        (V0.replace("00000010", "00000011"), "message size"),
        (V0_NULLS.replace(" 00 00 f", " 01 00 f"), "message size"),
    ),
)
def test_invalid_message_size_is_rejected(text: str, problem: str) -> None:
    data = memoryview(bytes.fromhex(text))

    with pytest.raises(BytesError, match=problem):
        message_size(data, 0, len(data))


@pytest.mark.parametrize(
    ("text", "problem"),
    (
        (V0.replace("00000001 6b", "00000008 6b"), "length beyond its message"),
        (V0.replace("00000001 6b", "00000004 6b"), "no room for a length"),
        (V0.replace("00000001 76", "00000000 76"), "longer than its fields"),
    ),
)
def test_message_whose_lengths_do_not_match_is_rejected(text: str, problem: str) -> None:
    data = memoryview(bytes.fromhex(text))

    with pytest.raises(BytesError, match=problem):
        read_message(data, 0, len(data))
