"""The little of Kafka's flexible encoding that control records need; the wire has its own codec.

array, string   length + 1 as an unsigned varint, then the elements or the UTF-8 bytes
uuid            16 bytes
tagged fields   unsigned varint count, each: tag, size, then as many bytes
"""

from collections.abc import Callable
from struct import Struct
from typing import Final, TypeVar

from cordwood.core.binary import append_unsigned_varint, read_unsigned_varint
from cordwood.core.errors import BytesError

_I16: Final = Struct(">h")
_U16: Final = Struct(">H")
_I32: Final = Struct(">i")
_I64: Final = Struct(">q")

T = TypeVar("T")


class FlexibleReader:
    """Reads fields from the front of `data`; raises `BytesError` where they do not fit."""

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
        """Read a length, then as many elements, each of them a byte at least."""
        start, count = self.position, self._length()
        if count > len(self.data) - self.position:
            raise self._beyond(start, count)
        return tuple(read_element() for _ in range(count))

    def skip_tags(self) -> None:
        """Read over the fields that a newer writer has added."""
        for _ in range(self._unsigned()):
            self._unsigned()
            self._take(self._unsigned())

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
    """Appends fields to `data`."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data = bytearray()

    def i16(self, value: int) -> None:
        self.data += _I16.pack(value)

    def u16(self, value: int) -> None:
        self.data += _U16.pack(value)

    def i32(self, value: int) -> None:
        self.data += _I32.pack(value)

    def i64(self, value: int) -> None:
        self.data += _I64.pack(value)

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
        encoded = value.encode()
        self.length(len(encoded))
        self.data += encoded

    def no_tags(self) -> None:
        append_unsigned_varint(self.data, 0)
