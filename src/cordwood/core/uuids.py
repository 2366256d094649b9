"""Kafka's 128-bit ids of topics and log directories: 16 bytes, or 22 characters (Kafka: `Uuid`).

    text     base64 with - and _ instead of + and /, no padding: 16 bytes are 22 characters
    example  00 00 .. 00 01 -> AAAAAAAAAAAAAAAAAAAAAQ

A generated id never begins with -, so that no command line parses it as an option.
"""

import binascii
import re
from typing import Final, NewType

from cordwood.core.errors import BytesError
from cordwood.core.ports import Random

Uuid = NewType("Uuid", bytes)

NO_UUID: Final = Uuid(bytes(16))

_TEXT = re.compile(r"[A-Za-z0-9_-]{22}(?:==)?")
_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_", b"+/")


def format_uuid(uuid: Uuid) -> str:
    """Return the id as text."""
    return binascii.b2a_base64(uuid, newline=False).rstrip(b"=").translate(_TO_URL).decode("ascii")


def parse_uuid(text: str) -> Uuid:
    """Parse an id; padding is allowed, as in Kafka."""
    if _TEXT.fullmatch(text) is None:
        raise BytesError(
            "an invalid id",
            position=0,
            expected="22 characters of A-Z, a-z, 0-9, - and _",
            found=text[:40],
        )
    digits = text[:22].encode("ascii").translate(_FROM_URL)
    return Uuid(binascii.a2b_base64(digits + b"=="))


def make_uuid(random: Random) -> Uuid:
    """Return a new id: a random version 4 UUID that is not a reserved one."""
    while True:
        uuid = Uuid(random_uuid(random.token(16)))
        if not format_uuid(uuid).startswith("-"):
            return uuid


def random_uuid(token: bytes) -> bytes:
    """Return 16 random bytes with the UUID version 4 and variant bits set."""
    assert len(token) == 16, f"a UUID has 16 bytes, not {len(token)}"
    return bytes((*token[:6], token[6] & 0x0F | 0x40, token[7], token[8] & 0x3F | 0x80, *token[9:]))
