"""Kafka's flexible encoding as far as control records need it; the wire has its own codec.

array, string   length + 1 as an unsigned varint, then the elements or the UTF-8 bytes uuid
16 bytes tagged fields   unsigned varint count, each: tag, size, bytes
"""

from collections.abc import Callable
from struct import Struct
from struct import error as StructError  # noqa: N812 - an error's name, like all others
from typing import Final, TypeVar

from cordwood.core.binary import append_unsigned_varint, read_unsigned_varint
from cordwood.core.errors import BytesError

_I16: Final = (Struct(">h"), "a signed number of 16 bits")
_U16: Final = (Struct(">H"), "an unsigned number of 16 bits")
_I32: Final = (Struct(">i"), "a signed number of 32 bits")
_I64: Final = (Struct(">q"), "a signed number of 64 bits")

T = TypeVar("T")


class FlexibleReader:
    """A reader of fields from the front of `data`; raises `BytesError` where they do not fit."""

    __slots__ = ("data", "position")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def i16(self) -> int:
        return int.from_bytes(self._take(2), signed=True)

    def u16(self) -> int:
        return int.from_bytes(self._take(2))

    def i32(self) -> int:
        return int.from_bytes(self._take(4), signed=True)

    def i64(self) -> int:
        return int.from_bytes(self._take(8), signed=True)

    def uuid(self) -> bytes:
        return self._take(16)

    def string(self) -> str:
        start = self.position
        try:
            return self._take(self._length()).decode()
        except UnicodeDecodeError as error:
            raise BytesError(
                "a string that is not UTF-8", position=start, expected="UTF-8", found=error.reason
            ) from error

    def array(self, read_element: Callable[[], T]) -> tuple[T, ...]:
        """Read a length, then the elements, each of at least one byte."""
        start, count = self.position, self._length()
        if count > len(self.data) - self.position:
            raise self._beyond(start, count)
        return tuple(read_element() for _ in range(count))

    def tags(self) -> dict[int, bytes]:
        """Read the tagged fields into a dictionary; a newer writer may have added some."""
        return {self._unsigned(): self._take(self._unsigned()) for _ in range(self._unsigned())}

    def _length(self) -> int:
        start = self.position
        raw = self._unsigned()
        if raw == 0:
            raise BytesError("a null", position=start, expected="a length", found="null")
        return raw - 1

    def _unsigned(self) -> int:
        value, self.position = read_unsigned_varint(self.data, self.position, len(self.data))
        return value

    def _take(self, size: int) -> bytes:
        start = self.position
        if size > len(self.data) - start:
            raise self._beyond(start, size)
        self.position = start + size
        return self.data[start : self.position]

    def _beyond(self, position: int, size: int) -> BytesError:
        left = len(self.data) - self.position
        return BytesError(
            "a field beyond the end", position=position, expected=f"at most {left}", found=size
        )


class FlexibleWriter:
    """A writer that appends fields to `data`; raises `BytesError` for unencodable values."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data = bytearray()

    def i16(self, value: int) -> None:
        self._append(_I16, value)

    def u16(self, value: int) -> None:
        self._append(_U16, value)

    def i32(self, value: int) -> None:
        self._append(_I32, value)

    def i64(self, value: int) -> None:
        self._append(_I64, value)

    def uuid(self, value: bytes) -> None:
        if len(value) != 16:
            raise BytesError(
                "a uuid of another size",
                position=len(self.data),
                expected="16 bytes",
                found=len(value),
            )
        self.data += value

    def length(self, count: int) -> None:
        append_unsigned_varint(self.data, count + 1)

    def string(self, value: str) -> None:
        try:
            encoded = value.encode()
        except UnicodeEncodeError as error:
            raise BytesError(
                "a string that UTF-8 cannot encode",
                position=len(self.data),
                expected="whole characters",
                found=ascii(value[error.start]),
            ) from error
        self.length(len(encoded))
        self.data += encoded

    def _append(self, kind: tuple[Struct, str], value: int) -> None:
        form, words = kind
        try:
            self.data += form.pack(value)
        except StructError as error:
            raise BytesError(
                "a number that does not fit", position=len(self.data), expected=words, found=value
            ) from error

    def no_tags(self) -> None:
        append_unsigned_varint(self.data, 0)
