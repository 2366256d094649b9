"""Key erasure: the file of keys whose records all go, and their seals in the certificate.

The file has one key a line. As text, the line is the bytes of the key, up to the line feed. As
base64 or hex, the line encodes them, and surrounding white space is ignored. Empty lines are
ignored, so the file cannot contain an empty key.

A certificate with the keys themselves would keep the data that was erased. So it contains their
seals: HMAC-SHA-256 of each key under a random salt for each certificate, preceded by the salt. With
a key, its erasure can be checked. Without it, seals cannot be looked up in a table, and two
certificates cannot be linked by their keys. A seal does not protect a key that can be guessed.
"""

import hmac
from base64 import b64decode
from binascii import Error, unhexlify
from collections.abc import Iterator, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Final

from cordwood.core.errors import SettingError

#: Random bytes in a salt.
SALT_BYTES: Final = 16


class KeyForm(StrEnum):
    """The encoding of keys in a file."""

    TEXT = "text"
    BASE64 = "base64"
    HEX = "hex"


def parse_keys(data: bytes, form: KeyForm, *, path: str) -> dict[bytes, int]:
    """Return the keys in a file, each with the number of its last line.

    SettingError for an invalid line, or a file without keys.
    """
    keys = dict(_keys(data, form, path))
    if not keys:
        raise SettingError(
            f"{path}: the file contains no key", key="erase-key", remedy="write one key a line"
        )
    return keys


def seal_keys(erased: Mapping[bytes, int], *, salt: bytes) -> dict[str, int]:
    """Return the seals of keys, with the numbers of their erased records.

    They are sorted, so that their order reveals nothing of the keys.
    """
    return dict(sorted((_seal(key, salt), count) for key, count in erased.items()))


def is_sealed(key: bytes, seal: str) -> bool:
    """Whether a seal belongs to this key."""
    salt, _, _ = seal.partition(":")
    return hmac.compare_digest(_seal(key, bytes.fromhex(salt)), seal)


def _keys(data: bytes, form: KeyForm, path: str) -> Iterator[tuple[bytes, int]]:
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            key = _key(line, form)
        except Error as error:
            raise SettingError(
                f"{path}: line {number} is not a key in {form}",
                key="erase-key",
                remedy="correct the line, or choose another --key-format",
            ) from error
        if key:
            yield key, number


def _key(line: bytes, form: KeyForm) -> bytes:
    if form is KeyForm.TEXT:
        return line
    encoded = line.strip()
    return b64decode(encoded, validate=True) if form is KeyForm.BASE64 else unhexlify(encoded)


def _seal(key: bytes, salt: bytes) -> str:
    return f"{salt.hex()}:{hmac.new(salt, key, sha256).hexdigest()}"
