"""UTF-8 in kernels: its validity, and the text that Java decodes from other bytes.

Java replaces a whole surrogate, and a truncated character at the end, by one replacement character,
which has three bytes. `core.java_text` is the plain twin.
"""

from cordwood.records.kernels.intrinsics import byte_at, store_8
from cordwood.records.kernels.kernel_definition import Bytes, inlined

#: The bytes of U+FFFD.
REPLACEMENT = (0xEF, 0xBF, 0xBD)


@inlined
def _continuation(source: Bytes, position: int, end: int) -> tuple[int, int]:
    """Read what follows the first byte of a UTF-8 sequence: its code point and its size, or 0."""
    first = byte_at(source, position)
    size = 0
    point = 0
    if 0xC2 <= first < 0xE0:
        size, point = 2, first & 0x1F
    elif 0xE0 <= first < 0xF0:
        size, point = 3, first & 0x0F
    elif 0xF0 <= first < 0xF5:
        size, point = 4, first & 0x07
    if size > end - position:
        return 0, 0
    for at in range(position + 1, position + size):
        byte = byte_at(source, at)
        if byte & 0xC0 != 0x80:
            return 0, 0
        point = point << 6 | byte & 0x3F
    return point, size


@inlined
def _character(source: Bytes, position: int, end: int) -> int:
    """Return the size of the character at a position, 0 if it is not valid."""
    if byte_at(source, position) < 0x80:
        return 1
    point, size = _continuation(source, position, end)
    is_surrogate = 0xD800 <= point < 0xE000
    is_overlong = (size == 3 and point < 0x800) or (size == 4 and point < 0x10000)
    return 0 if is_surrogate or is_overlong or point > 0x10FFFF else size


@inlined
def utf8(source: Bytes, position: int, end: int) -> int:
    """`end` when the bytes up to there are UTF-8 as Python and Arrow want it, else -1."""
    while position < end:
        size = _character(source, position, end)
        if size == 0:
            return -1
        position += size
    return end


@inlined
def _byte_or_none(source: Bytes, position: int, end: int) -> int:
    return byte_at(source, position) if position < end else -1


@inlined
def _malformed(source: Bytes, position: int, end: int) -> int:
    """Return the size of the invalid sequence that Java replaces by one character."""
    first = byte_at(source, position)
    second = _byte_or_none(source, position + 1, end)
    third = _byte_or_none(source, position + 2, end)
    if first < 0xE0 or first > 0xF4 or second < 0 or second & 0xC0 != 0x80:
        return 1
    if first < 0xF0:
        if first == 0xE0 and second & 0xE0 == 0x80:
            return 1
        return 3 if third >= 0 and third & 0xC0 == 0x80 else 2
    if (first == 0xF0 and second < 0x90) or (first == 0xF4 and second & 0xF0 != 0x80):
        return 1
    return 3 if third >= 0 and third & 0xC0 == 0x80 else 2


@inlined
def java_text_size(source: Bytes, position: int, end: int) -> int:
    """Return the number of bytes of the text that Java decodes."""
    size = 0
    while position < end:
        length = _character(source, position, end)
        if length == 0:
            size += 3
            position += _malformed(source, position, end)
        else:
            size += length
            position += length
    return size


@inlined
def put_java_text(source: Bytes, position: int, end: int, slab: Bytes, to: int) -> int:
    """Write the text that Java decodes, and return the position after it."""
    while position < end:
        length = _character(source, position, end)
        if length == 0:
            for at in range(3):
                store_8(slab, to + at, REPLACEMENT[at])
            to += 3
            position += _malformed(source, position, end)
        for _ in range(length):
            store_8(slab, to, byte_at(source, position))
            to += 1
            position += 1
    return to
