"""Memory for decompressed batches, reused while it is warm in the cache.

Arena   consecutive batches while there is room, for a reader that makes columns of them Room    one
batch at a time, for a reader that finishes it before the next
"""

from typing import TypeAlias

import numpy as np

from cordwood.core.binary import Buffer
from cordwood.core.errors import CordwoodError, CorruptMessageError
from cordwood.records.batch_location import CODEC_BITS
from cordwood.records.compression import DEFAULT_LIMIT, Codec, decompress, decompress_into
from cordwood.records.kernels.kernel_definition import Bytes, Words
from cordwood.records.kernels.layout import SLACK, T_ATTRIBUTES, T_DATA, T_DATA_END
from cordwood.records.kernels.slab_pool import SlabPool

#: Small enough to stay in the processor's cache until it has been decoded.
ARENA_BYTES = 1 << 20

#: A range of records: a buffer, its start and its end.
Stretch: TypeAlias = tuple[Bytes, int, int]


def read_only(buffer: Buffer | Bytes) -> Bytes:
    """Return a buffer as kernels see it."""
    source = np.frombuffer(buffer, np.uint8)
    source.flags.writeable = False
    return source


class Arena:
    """Room for decompressed batches; `source` is the array that kernels read."""

    __slots__ = ("_latest", "_limit", "_pool", "_room", "_slab", "_used", "source")

    def __init__(self, pool: SlabPool, limit: int) -> None:
        self._pool = pool
        self._limit = limit
        self._used = 0
        self._latest = 1  # never 0, so that an arena without a buffer counts as full
        self._slab: Bytes | None = None
        self._room = memoryview(b"")
        self.source: Bytes = read_only(b"")

    def rewind(self) -> None:
        """Start again in the same bytes, which have no references."""
        self._used = 0

    def renew(self) -> None:
        """Start again in unreferenced bytes; views may still refer to the old ones."""
        self.close()
        self._slab = slab = self._pool.take(ARENA_BYTES)
        self.source = slab.view()
        self.source.flags.writeable = False
        self._room = slab.data[: len(slab) - SLACK]

    def close(self) -> None:
        """Return the bytes to the pool once they have no references."""
        self._used = 0
        self._room = memoryview(b"")
        self.source = read_only(b"")
        if self._slab is not None:
            self._pool.give_back(self._slab)
            self._slab = None

    def unpack(self, codec: Codec, data: memoryview, *, magic: int) -> tuple[int, int] | None:
        """Decompress after the present content; return the range, None when it does not fit."""
        start = self._used
        if (
            len(self._room) - start < self._latest
        ):  # a failed attempt costs as much as decompressing
            return None
        size = decompress_into(codec, data, self._room, start, magic=magic)
        if size is None:
            return None
        if size > self._limit:
            raise CorruptMessageError(
                "the uncompressed records are larger than the limit",
                expected=f"at most {self._limit} bytes",
                found=size,
            )
        self._latest = max(size, 1)
        self._used = end = start + size
        return start, end

    def unpack_alone(self, codec: Codec, data: memoryview, *, magic: int) -> tuple[int, int]:
        """Decompress into an empty arena of sufficient size."""
        self.renew()
        span = self.unpack(codec, data, magic=magic)
        if span is not None:
            return span
        self.close()
        self.source = read_only(decompress(codec, data, magic=magic, limit=self._limit))
        return 0, len(self.source)


class Room:
    """Room for one decompressed batch; a larger one gets a buffer of its own."""

    __slots__ = ("_room", "_source")

    def __init__(self) -> None:
        self._room = bytearray(ARENA_BYTES)
        self._source = read_only(self._room)

    def unpack(
        self, codec: Codec, packed: memoryview, *, limit: int = DEFAULT_LIMIT
    ) -> Stretch | None:
        """Return the range of the records until the next call; None if bad or too large."""
        try:
            size = decompress_into(codec, packed, self._room, 0)
            if size is not None:
                return (self._source, 0, size) if size <= limit else None
            source = read_only(decompress(codec, packed, limit=limit))
        except CordwoodError:
            return None
        return source, 0, len(source)

    def unpack_row(self, source: Bytes, row: Words) -> Bytes | None:
        """Decompress the records of a row of the table, and write their range into it."""
        try:
            codec = Codec(row[T_ATTRIBUTES] & CODEC_BITS)
        except ValueError:  # an unknown codec
            return None
        stretch = self.unpack(codec, source.data[row[T_DATA] : row[T_DATA_END]])
        if stretch is None:
            return None
        unpacked, row[T_DATA], row[T_DATA_END] = stretch
        return unpacked
