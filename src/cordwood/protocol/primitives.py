"""Helpers of generated readers and writers: long lengths, tagged fields and errors.

Generated code handles the first byte of a compact length, an unsigned varint. If more bytes follow,
it calls a function here.
"""

import sys
from struct import Struct
from struct import error as StructError  # noqa: N812 - named like every other error
from typing import Final, NoReturn, TypeAlias

from cordwood.core.binary import Buffer, append_unsigned_varint, read_unsigned_varint
from cordwood.core.errors import BytesError, UnsupportedVersionError
from cordwood.core.ports import Slice

Chunk: TypeAlias = Buffer | Slice
"""Part of an encoded message: bytes, or a range of a file to be sent."""

#: Errors in generated code for reads past the end, and for invalid UTF-8.
UNREADABLE: Final = (StructError, IndexError, UnicodeDecodeError)

#: Errors in generated code for a value whose type or size does not fit its field.
UNWRITABLE: Final = (StructError, TypeError, AttributeError, UnicodeEncodeError)

#: Kafka's limit; the non-compact form cannot encode more.
STRING_MAX_BYTES: Final = 0x7FFF

#: Record sets up to this size are copied into the surrounding bytes: one chunk is sent faster.
JOINED_BYTES: Final = 8192

#: The limit of a message that comes from a trusted peer: none.
UNLIMITED: Final = sys.maxsize

_KEPT_ARRAYS: Final = 64


class ElementLimitError(BytesError):
    """A message has more elements, in all its lists, than its reader or writer may process."""

    def __init__(self) -> None:
        super().__init__("the elements of all lists", position=0, expected="fewer", found="more")


class ArrayLayouts(dict[int, Struct]):
    """`struct` layouts of number arrays by count, compiled on first use; short ones are cached."""

    def __init__(self, element: str) -> None:
        super().__init__()
        self._element = element

    def __missing__(self, count: int) -> Struct:
        made = Struct(f">{count}{self._element}")
        if count < _KEPT_ARRAYS:
            self[count] = made
        return made


def read_string_length(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """Read a string's compact length, plus one, if it has more than one byte."""
    length, after = read_unsigned_varint(data, at, end)
    if length > STRING_MAX_BYTES + 1:
        refuse_length(at, length - 1, most=STRING_MAX_BYTES)
    return length, after


def read_unknown_tags(  # tidy: allow[positional] as generated code calls it
    data: memoryview, at: int, end: int, left: int = UNLIMITED
) -> tuple[tuple[tuple[int, bytes], ...], int]:
    """Read the tagged fields, count included, of a struct that declares none."""
    count, at = read_unsigned_varint(data, at, end)
    if count > left:
        refuse_elements()
    found = []
    for _ in range(count):
        tag, at, to = read_tag(data, at, end)
        found.append((tag, bytes(data[at:to])))
        at = to
    return tuple(found), at


def read_tag(data: memoryview, at: int, end: int) -> tuple[int, int, int]:
    """Read the header of a tagged field: its tag, and the start and end of its value."""
    tag, at = read_unsigned_varint(data, at, end)
    size, at = read_unsigned_varint(data, at, end)
    if size > end - at:
        refuse_length(at, size, most=end - at)
    return tag, at, at + size


def refuse_length(at: int, length: int, *, most: int) -> NoReturn:
    """Raise for a length beyond the remaining bytes, or for an unexpected null."""
    raise BytesError(
        "an unexpected null" if length < 0 else "a length beyond its limit",
        position=at,
        expected=f"0 to {most}",
        found=length,
    )


def refuse_elements() -> NoReturn:
    """Raise for more elements than the limit."""
    raise ElementLimitError


def refuse_tag_end(at: int, to: int) -> NoReturn:
    """Raise for a tagged field whose value does not match its size."""
    raise BytesError("a tagged field of another size", position=at, expected=to, found=at)


def unreadable(error: Exception, at: int, end: int) -> BytesError:
    """Return our error for one of `UNREADABLE`; `at` is the position of the last read."""
    if isinstance(error, UnicodeDecodeError):
        return BytesError(
            "a string that is not UTF-8", position=at, expected="UTF-8", found=error.reason
        )
    return BytesError(
        "a message that ends too early",
        position=at,
        expected="more bytes",
        found=f"{max(end - at, 0)} left",
    )


def tail_of_length(length: int) -> bytes:
    """Return a compact length, given with one added, without its first byte."""
    out = bytearray()
    append_unsigned_varint(out, length >> 7)
    return bytes(out)


def tail_of_string_length(length: int) -> bytes:
    """Return `tail_of_length` of a string; raise above the limit."""
    if length > STRING_MAX_BYTES + 1:
        refuse_length(0, length - 1, most=STRING_MAX_BYTES)
    return tail_of_length(length)


def tail_of_tags(tags: tuple[tuple[int, Buffer], ...]) -> bytearray:
    """Return tagged fields, sorted by tag, after the first byte of their count."""
    out = bytearray(tail_of_length(len(tags)) if len(tags) > 127 else b"")
    for tag, body in sorted(tags, key=lambda each: each[0]):
        append_unsigned_varint(out, tag)
        append_unsigned_varint(out, len(body))
        out += body
    return out


def size_of_part(part: Chunk) -> int:
    """Return the size of a chunk in bytes."""
    return len(part) if isinstance(part, Buffer) else part.length


def put_records(chunks: list[Chunk], records: Chunk) -> bytearray:
    """Append a record set, uncopied unless small, and return the buffer for further bytes."""
    out = chunks[-1]
    assert isinstance(out, bytearray), "the last chunk is being written"
    if isinstance(records, Buffer) and len(records) <= JOINED_BYTES:
        out += records
        return out
    chunks.append(records)
    after = bytearray()
    chunks.append(after)
    return after


def refuse_uuid(value: bytes) -> NoReturn:
    """Raise for bytes of another size than a UUID, which `struct` would cut or pad silently."""
    raise BytesError("a uuid of another size", position=0, expected="16 bytes", found=len(value))


def refuse_field(name: str, title: str) -> NoReturn:
    """Raise instead of dropping a value that this version of the message lacks."""
    raise UnsupportedVersionError(f"{title} has no field for {name}")


def unwritable(error: Exception, title: str) -> BytesError:
    """Return our error for one of `UNWRITABLE`."""
    return BytesError(
        "a value that its field cannot hold", position=0, expected=title, found=str(error)
    )
