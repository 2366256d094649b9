"""Java's text conversions, for output that must equal a Java tool's byte by byte.

It covers paths of `File`, a `String` decoded from invalid UTF-8, and `Double.toString`.
"""

import codecs
from typing import Final

_REPLACEMENT: Final = "�"
_HANDLER: Final = "cordwood.java"


def utf8_as_java(data: bytes) -> bytes:
    """Return the bytes that Java prints for a String decoded from `data`.

    Java emits one replacement character for a whole surrogate, and one for a truncated character at
    the end.
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        return text_as_java(data).encode()
    return data


def text_as_java(data: bytes) -> str:
    """Return the String that Java decodes from `data`, with replacement characters."""
    return data.decode("utf-8", _HANDLER)


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Continue after an invalid sequence where Java continues."""
    assert isinstance(error, UnicodeDecodeError)
    data, at = error.object, error.start
    return _REPLACEMENT, at + _malformed(data[at : at + 4])


codecs.register_error(_HANDLER, _replace)


def _malformed(rest: bytes) -> int:
    """Return the length of the invalid sequence that Java replaces; `rest` has at most 4 bytes."""
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
    """Return a path in the form of `File`: no repeated and no trailing slash."""
    short = "/".join(part for part in text.split("/") if part)
    return f"/{short}" if text.startswith("/") else short


def absolute_path(path: str, *, folder: str) -> str:
    """Return the path as `getAbsolutePath` does: dots are not resolved."""
    if path.startswith("/"):
        return path
    return f"{folder.rstrip('/')}/{path}" if path else folder


def double_text(value: float) -> str:
    """Return a finite number in the format of `Double.toString`: 0.5, 1.0E7."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    written = (f"{value:.{digits}e}" for digits in range(1, 17))
    mantissa, _, exponent = next(text for text in written if float(text) == value).partition("e")
    return f"{mantissa}E{int(exponent)}"
