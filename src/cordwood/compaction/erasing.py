"""Keys that are to go from a log with all their values: how they are given, and how they are told.

A file of keys has one a line. As text a line is the key's bytes, all of them, up to the line feed;
as base64 or hex digits it says them, with white space around it. Lines without anything are passed
over, so a key of no bytes cannot be given.

A certificate that named the keys would keep what was to be erased. So it has their seals: HMAC with
SHA-256 of each, under a salt that is made for each certificate and stands in front of it. Whoever
knows a key can check that it was erased; nobody can look seals up in a table, or see from two
certificates that they tell of the same key. That is no secret kept from one who can guess the key.
"""

import hmac
from base64 import b64decode
from binascii import Error, unhexlify
from collections.abc import Iterable, Iterator
from enum import StrEnum
from hashlib import sha256
from typing import Final

from cordwood.core.errors import SettingError

#: How many bytes of chance a salt has.
SALT_BYTES: Final = 16


class KeyForm(StrEnum):
    """How the lines of a file say keys."""

    TEXT = "text"
    BASE64 = "base64"
    HEX = "hex"


def keys_in(data: bytes, form: KeyForm, *, path: str) -> frozenset[bytes]:
    """Return the keys in a file; SettingError for a line that says none, or a file without any."""
    keys = frozenset(_keys(data, form, path))
    if not keys:
        raise SettingError(
            f"{path} has no key in it", key="erase-key", remedy="write one a line into it"
        )
    return keys


def seals_of(keys: Iterable[bytes], *, salt: bytes) -> tuple[str, ...]:
    """Return what a certificate tells of keys, in no order that would say anything of them."""
    return tuple(sorted(_seal(key, salt) for key in keys))


def is_sealed(key: bytes, seal: str) -> bool:
    """Whether a seal is this key's."""
    salt, _, _ = seal.partition(":")
    return hmac.compare_digest(_seal(key, bytes.fromhex(salt)), seal)


def _keys(data: bytes, form: KeyForm, path: str) -> Iterator[bytes]:
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            key = _key(line, form)
        except Error as error:
            raise SettingError(
                f"{path}, line {number}: not a key in {form}",
                key="erase-key",
                remedy="mend the line, or choose another --key-format",
            ) from error
        if key:
            yield key


def _key(line: bytes, form: KeyForm) -> bytes:
    if form is KeyForm.TEXT:
        return line
    said = line.strip()
    return b64decode(said, validate=True) if form is KeyForm.BASE64 else unhexlify(said)


def _seal(key: bytes, salt: bytes) -> str:
    return f"{salt.hex()}:{hmac.new(salt, key, sha256).hexdigest()}"
