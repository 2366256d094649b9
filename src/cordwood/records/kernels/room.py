"""Memory for one decompressed batch, for a reader that finishes it before the next one.

It is used without numpy, so that a broker does not load numpy for its record checks.
"""

from typing import TypeAlias, cast

from cordwood.core.binary import Buffer
from cordwood.core.errors import CordwoodError
from cordwood.records.batch_location import CODEC_BITS
from cordwood.records.compression import DEFAULT_LIMIT, Codec, decompress, decompress_into
from cordwood.records.kernels.kernel_definition import Bytes, Words
from cordwood.records.kernels.layout import T_ATTRIBUTES, T_DATA, T_DATA_END

#: Small enough to stay in the processor's cache until it has been read.
ROOM_BYTES = 1 << 20

#: A range of records: a buffer, its start and its end.
Stretch: TypeAlias = tuple[Bytes, int, int]


def source_of(buffer: Buffer) -> Bytes:
    """Return a buffer as kernels see it, without an array."""
    return cast("Bytes", memoryview(buffer).toreadonly())


class Room:
    """Room for one decompressed batch; a larger one gets a buffer of its own."""

    __slots__ = ("_room", "_source")

    def __init__(self) -> None:
        self._room = bytearray(ROOM_BYTES)
        self._source = source_of(self._room)

    def unpack(
        self, codec: Codec, packed: memoryview, *, limit: int = DEFAULT_LIMIT
    ) -> Stretch | None:
        """Return the range of the records until the next call; None if bad or too large."""
        try:
            size = decompress_into(codec, packed, self._room, 0)
            if size is not None:
                return (self._source, 0, size) if size <= limit else None
            source = source_of(decompress(codec, packed, limit=limit))
        except CordwoodError:
            return None
        return source, 0, len(source)

    def unpack_row(self, source: Bytes, row: Words) -> Bytes | None:
        """Decompress the records of a row of the table, and write their range into it."""
        try:
            codec = Codec(row[T_ATTRIBUTES] & CODEC_BITS)
        except ValueError:  # an unknown codec
            return None
        packed = memoryview(cast("Buffer", source))[row[T_DATA] : row[T_DATA_END]]
        stretch = self.unpack(codec, packed)
        if stretch is None:
            return None
        unpacked, row[T_DATA], row[T_DATA_END] = stretch
        return unpacked
