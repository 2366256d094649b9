"""What Java makes of text, for whoever has to print exactly what a Java tool prints.

Four of its habits show: how `File` spells a path, how a `String` is made of bytes that are not
UTF-8, how a `double` is written, and in which order a `HashMap` hands out its keys.
"""

import codecs
import struct
from collections.abc import Iterable
from typing import Final

_REPLACEMENT: Final = "�"
_HANDLER: Final = "cordwood.java"
_FIRST_TABLE: Final = 16


def utf8_as_java(data: bytes) -> bytes:
    """Return the bytes that Java prints for a String made of `data`.

    Java puts one replacement for a whole surrogate and for whatever is cut off at the end.
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", _HANDLER).encode()
    return data


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Go on where Java goes on after bytes that begin no character."""
    assert isinstance(error, UnicodeDecodeError)
    data, at = error.object, error.start
    return _REPLACEMENT, at + _malformed(data[at : at + 4])


codecs.register_error(_HANDLER, _replace)


def _malformed(rest: bytes) -> int:
    """Return how many bytes Java takes for one replacement; `rest` is at most four."""
    first = rest[0]
    if 0xE0 <= first < 0xF0:
        return _malformed_three(rest)
    if 0xF0 <= first < 0xF8:
        return _malformed_four(rest)
    return 1


def _malformed_three(rest: bytes) -> int:
    if len(rest) == 1 or _is_wrong_second_of_three(rest):
        return 1
    if len(rest) > 2 and _continues(rest[2]):
        return 3  # half of a surrogate pair
    return 2


def _malformed_four(rest: bytes) -> int:
    if len(rest) == 1 or rest[0] > 0xF4 or _is_wrong_second_of_four(rest):
        return 1
    return 2 if len(rest) == 2 or not _continues(rest[2]) else 3


def _is_wrong_second_of_three(rest: bytes) -> bool:
    is_overlong = rest[0] == 0xE0 and rest[1] & 0xE0 == 0x80
    return is_overlong or not _continues(rest[1])


def _is_wrong_second_of_four(rest: bytes) -> bool:
    is_overlong = rest[0] == 0xF0 and rest[1] < 0x90
    is_beyond = rest[0] == 0xF4 and rest[1] & 0xF0 != 0x80
    return is_overlong or is_beyond or not _continues(rest[1])


def _continues(byte: int) -> bool:
    return byte & 0xC0 == 0x80


def file_path(text: str) -> str:
    """Return a path as `File` spells it: no slash twice, none at the end."""
    short = "/".join(part for part in text.split("/") if part)
    return f"/{short}" if text.startswith("/") else short


def absolute_path(path: str, *, folder: str) -> str:
    """Return what `getAbsolutePath` says: dots stay as they are."""
    if path.startswith("/"):
        return path
    return f"{folder.rstrip('/')}/{path}" if path else folder


def double_text(value: float) -> str:
    """Return a finite number as `Double.toString` writes it: 0.5, 1.0E7."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    written = (f"{value:.{digits}e}" for digits in range(1, 17))
    mantissa, _, exponent = next(text for text in written if float(text) == value).partition("e")
    return f"{mantissa}E{int(exponent)}"


def hash_order(keys: Iterable[str]) -> list[str]:
    """Return distinct keys in the order of a `HashMap` that `computeIfAbsent` has put them in.

    Each goes in front of those in its bucket, and the table grows one key later than with `put`.
    Long buckets, which Java turns into trees, are not followed.
    """
    put = list(keys)
    table = _FIRST_TABLE
    while len(put) - 1 > table * 3 // 4:
        table *= 2
    put.reverse()
    put.sort(key=lambda key: _spread(key) & (table - 1))
    return put


def _spread(text: str) -> int:
    """Return `String.hashCode` with its upper half folded into the lower one."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for (unit,) in struct.iter_unpack(">H", units):
        value = value * 31 + unit & 0xFFFFFFFF
    return value ^ value >> 16
