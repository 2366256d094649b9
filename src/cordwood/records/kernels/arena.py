"""Memory for consecutive decompressed batches, reused while it is warm in the cache.

It is for a reader that makes columns of them. `room` has that of one batch at a time.
"""

import numpy as np

from cordwood.core.binary import Buffer
from cordwood.core.errors import CorruptMessageError
from cordwood.records.compression import Codec, decompress, decompress_into
from cordwood.records.kernels.kernel_definition import Bytes
from cordwood.records.kernels.layout import SLACK
from cordwood.records.kernels.slab_pool import SlabPool

#: Small enough to stay in the processor's cache until it has been decoded.
ARENA_BYTES = 1 << 20


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
