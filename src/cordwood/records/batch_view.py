"""Common view of a batch in any format: position, size, end, checksum (Kafka: `RecordBatch`).

0  i64  base offset in v2, the message's own offset in v0 and v1 8  i32  length of all following
bytes 16  i8   magic
"""

from abc import ABC, abstractmethod
from struct import Struct
from typing import Final

from cordwood.records.batch_location import BatchLocation
from cordwood.records.compression import Codec
from cordwood.records.legacy_message import LOG_OVERHEAD

_I8: Final = Struct(">b")
_I16: Final = Struct(">h")
_I32: Final = Struct(">i")
_U32: Final = Struct(">I")
_I64: Final = Struct(">q")


class BatchView(ABC):
    """A view of the batch that begins at `position`; the setters need a writable buffer."""

    __slots__ = ("position", "view")

    view: memoryview
    position: int

    # -- fields whose place depends on the format

    @property
    @abstractmethod
    def crc(self) -> int:
        """Return the stored checksum."""

    @property
    @abstractmethod
    def attributes(self) -> int: ...

    @property
    @abstractmethod
    def last_offset(self) -> int: ...

    @abstractmethod
    def computed_crc(self) -> int:
        """Return the checksum of the present bytes."""

    # -- derived from them

    @property
    def place(self) -> BatchLocation:
        """Return the location for errors, with the offset of the header."""
        return BatchLocation(self.position, self._i64(0))

    @property
    def batch_length(self) -> int:
        """The size as the header counts it, without itself and the offset."""
        return self._i32(8)

    @property
    def size(self) -> int:
        """All bytes of the batch."""
        return LOG_OVERHEAD + self._i32(8)

    @property
    def end(self) -> int:
        """The position after the batch."""
        return self.position + self.size

    @property
    def data(self) -> memoryview:
        """Return the batch's slice of the buffer."""
        return self.view[self.position : self.end]

    @property
    def codec(self) -> Codec:
        return self.place.codec(self.attributes)

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    def is_crc_valid(self) -> bool:
        """Return whether the batch's own checksum is right; inner ones are not checked."""
        return self.crc == self.computed_crc()

    def ensure_valid(self) -> None:
        """Raise CorruptMessageError if the checksum does not match."""
        self.place.ensure_crc(self.crc, self.computed_crc(), message="the checksum is wrong")

    def ensure_between(self, what: str, number: int, *, lowest: int, highest: int) -> None:
        """Raise an error for a number outside the range of its field; no byte is written."""
        if not lowest <= number <= highest:
            raise self.place.invalid(what, expected=f"{lowest} to {highest}", found=number)

    # -- access

    def _i8(self, at: int) -> int:
        number: int = _I8.unpack_from(self.view, self.position + at)[0]
        return number

    def _i16(self, at: int) -> int:
        number: int = _I16.unpack_from(self.view, self.position + at)[0]
        return number

    def _i32(self, at: int) -> int:
        number: int = _I32.unpack_from(self.view, self.position + at)[0]
        return number

    def _u32(self, at: int) -> int:
        number: int = _U32.unpack_from(self.view, self.position + at)[0]
        return number

    def _i64(self, at: int) -> int:
        number: int = _I64.unpack_from(self.view, self.position + at)[0]
        return number
