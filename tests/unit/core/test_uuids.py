"""Kafka's ids as bytes and as text."""

import pytest

from cordwood.core.errors import BytesError
from cordwood.core.uuids import NO_UUID, Uuid, format_uuid, make_uuid, parse_uuid, random_uuid
from cordwood.testing.seeded_random import SeededRandom


class ScriptedRandom(SeededRandom):
    """Random source that returns these tokens in order."""

    def __init__(self, *tokens: bytes) -> None:
        super().__init__(0)
        self._tokens = list(tokens)

    def token(self, size: int) -> bytes:
        return self._tokens.pop(0)


@pytest.mark.parametrize(
    ("uuid", "text"),
    (
        (NO_UUID, "AAAAAAAAAAAAAAAAAAAAAA"),
        (Uuid(bytes(15) + b"\x01"), "AAAAAAAAAAAAAAAAAAAAAQ"),
        (Uuid(b"\xff" * 16), "_____________________w"),
        (Uuid(b"\xfb\xef\xbe" * 5 + b"\x00"), "--------------------AA"),
        (Uuid(bytes.fromhex("dc075ce058df4deca945644e9900cd21")), "3Adc4FjfTeypRWROmQDNIQ"),
    ),
)
def test_uuid_is_22_characters_of_text(uuid: Uuid, text: str) -> None:
    assert format_uuid(uuid) == text
    assert parse_uuid(text) == uuid


def test_uuid_is_read_with_padding_too() -> None:
    assert parse_uuid("AAAAAAAAAAAAAAAAAAAAAQ==") == bytes(15) + b"\x01"


@pytest.mark.parametrize("text", ("", "AAAA", "A" * 23, "AAAAAAAAAAAAAAAAAAAAA+", "A" * 99))
def test_invalid_uuid_text_is_rejected(text: str) -> None:
    with pytest.raises(BytesError, match="22 characters"):
        parse_uuid(text)


def test_random_uuid_has_version_4_and_never_begins_with_a_dash() -> None:
    random = ScriptedRandom(b"\xf8" + bytes(15), bytes(16))

    made = make_uuid(random)

    assert made.hex() == "00000000000040008000000000000000"


def test_random_uuid_keeps_all_other_bits() -> None:
    assert random_uuid(b"\xff" * 16).hex() == "ffffffffffff4fffbfffffffffffffff"
