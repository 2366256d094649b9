"""What generated readers and writers call where the common case ends: long lengths, tags, refusals.

A compact length is an unsigned varint of which the generated code reads, or writes, the first byte.
Where that says that there is more of it, the rest is dealt with here.
"""

from struct import Struct
from struct import error as StructError  # noqa: N812 - an error's name, like all others
from typing import Final, NoReturn, TypeAlias

from cordwood.core.binary import Buffer, append_unsigned_varint, read_unsigned_varint
from cordwood.core.errors import BytesError, UnsupportedVersionError
from cordwood.core.ports import Slice

Chunk: TypeAlias = Buffer | Slice
"""A part of an encoded message: bytes, or a range of a file that is to be sent."""

#: What reading past the end, or text that is none, raises inside generated code.
UNREADABLE: Final = (StructError, IndexError, UnicodeDecodeError)

#: What a value of another type or size than its field's raises inside generated code.
UNWRITABLE: Final = (StructError, TypeError, AttributeError, UnicodeEncodeError)

#: Kafka's own limit, which the old form has by its nature.
STRING_MAX_BYTES: Final = 0x7FFF

#: Record sets up to this size are copied into the bytes around them: one part is sent sooner.
JOINED_BYTES: Final = 8192

_KEPT_ARRAYS: Final = 64


class Arrays(dict[int, Struct]):
    """The layouts of arrays of so many numbers, made on first use; those of short ones stay."""

    def __init__(self, element: str) -> None:
        super().__init__()
        self._element = element

    def __missing__(self, count: int) -> Struct:
        made = Struct(f">{count}{self._element}")
        if count < _KEPT_ARRAYS:
            self[count] = made
        return made


def read_string_length(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """Read the compact length of a string, plus one, that takes more than a byte."""
    length, after = read_unsigned_varint(data, at, end)
    if length > STRING_MAX_BYTES + 1:
        refuse_length(at, length - 1, most=STRING_MAX_BYTES)
    return length, after


def read_unknown_tags(
    data: memoryview, at: int, end: int
) -> tuple[tuple[tuple[int, bytes], ...], int]:
    """Read the tagged fields, count included, of a struct that declares none."""
    count, at = read_unsigned_varint(data, at, end)
    found = []
    for _ in range(count):
        tag, at, to = read_tag(data, at, end)
        found.append((tag, bytes(data[at:to])))
        at = to
    return tuple(found), at


def read_tag(data: memoryview, at: int, end: int) -> tuple[int, int, int]:
    """Read the head of a tagged field: its tag, where its value begins and where it ends."""
    tag, at = read_unsigned_varint(data, at, end)
    size, at = read_unsigned_varint(data, at, end)
    if size > end - at:
        refuse_length(at, size, most=end - at)
    return tag, at, at + size


def refuse_length(at: int, length: int, *, most: int) -> NoReturn:
    """Refuse a length beyond the bytes that are left, or a null where none may be."""
    raise BytesError(
        "a null where none may be" if length < 0 else "a length beyond its limit",
        position=at,
        expected=f"0 to {most}",
        found=length,
    )


def refuse_tag_end(at: int, to: int) -> NoReturn:
    """Refuse a tagged field whose value is not as long as it says."""
    raise BytesError("a tagged field of another size", position=at, expected=to, found=at)


def unreadable(error: Exception, at: int, end: int) -> BytesError:
    """Return our error for one of `UNREADABLE`; `at` is where the last part was read."""
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
    """Return all bytes but the first of a compact length, which is given with its one added."""
    out = bytearray()
    append_unsigned_varint(out, length >> 7)
    return bytes(out)


def tail_of_string_length(length: int) -> bytes:
    """Return what `tail_of_length` does, of a string, which has a limit."""
    if length > STRING_MAX_BYTES + 1:
        refuse_length(0, length - 1, most=STRING_MAX_BYTES)
    return tail_of_length(length)


def tail_of_tags(tags: tuple[tuple[int, Buffer], ...]) -> bytearray:
    """Return tagged fields in the order of their tags, behind their count's first byte."""
    out = bytearray(tail_of_length(len(tags)) if len(tags) > 127 else b"")
    for tag, body in sorted(tags, key=lambda each: each[0]):
        append_unsigned_varint(out, tag)
        append_unsigned_varint(out, len(body))
        out += body
    return out


def size_of_part(part: Chunk) -> int:
    """Return how many bytes a part has."""
    return len(part) if isinstance(part, Buffer) else part.length


def put_records(chunks: list[Chunk], records: Chunk) -> bytearray:
    """Add a record set, untouched unless it is small, and return what is appended to next."""
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
    """Refuse what has not the size of a uuid, which `struct` would cut or fill in silence."""
    raise BytesError("a uuid of another size", position=0, expected="16 bytes", found=len(value))


def refuse_field(name: str, title: str) -> NoReturn:
    """Refuse to lose a value that this version of the message has no place for."""
    raise UnsupportedVersionError(f"{title} has no place for {name}")


def unwritable(error: Exception, title: str) -> BytesError:
    """Return our error for one of `UNWRITABLE`."""
    return BytesError(
        "a value that its field cannot hold", position=0, expected=title, found=str(error)
    )
