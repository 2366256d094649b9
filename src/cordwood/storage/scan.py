"""The headers of a file's batches, read through windows that are small beside the batches.

A walk ends in silence at a batch that is cut off and at the end that it is given; it raises where
no batch can begin: at zeros, say, or in the middle of one. Where a window ends means nothing.
"""

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final, TypeAlias

from cordwood.core.binary import Buffer
from cordwood.records.batch import MAGIC
from cordwood.records.header import LARGEST_HEADER, BatchHeader, read_header
from cordwood.records.message import LOG_OVERHEAD
from cordwood.records.stream import PREFIX_SIZE

#: Return so many bytes from a position of the file; fewer only where it ends.
Pread: TypeAlias = Callable[[int, int], Buffer]

WINDOW_SIZE: Final = 4096

_PREFIX: Final = Struct(">qi4xb6xi")
_PASSABLE_SIZE: Final = LARGEST_HEADER - LOG_OVERHEAD


def headers(pread: Pread, position: int, end: int) -> Iterator[BatchHeader]:
    """Yield the header of every whole batch that lies from `position` up to `end`."""
    window: Buffer = b""
    start = position
    while end - position >= PREFIX_SIZE:
        if len(window) - (position - start) < min(LARGEST_HEADER, end - position):
            window, start = pread(min(WINDOW_SIZE, end - position), position), position
        header = read_header(window, position - start, position=position)
        if header is None or header.end > end:
            return
        yield header
        position = header.end


def batch_with(pread: Pread, position: int, end: int, *, offset: int) -> BatchHeader | None:
    """Return the first batch from `position` on whose last offset is `offset` or above.

    Of the batches before it only what passing them takes is read.
    """
    window: Buffer = b""
    start = position
    while end - position >= LARGEST_HEADER:
        if len(window) - (position - start) < LARGEST_HEADER:
            window, start = pread(min(WINDOW_SIZE, end - position), position), position
            if len(window) < LARGEST_HEADER:
                break
        base_offset, size, magic, last_delta = _PREFIX.unpack_from(window, position - start)
        if magic != MAGIC or size < _PASSABLE_SIZE:
            break
        if base_offset + last_delta >= offset:
            header = read_header(window, position - start, position=position)
            return header if header is not None and header.end <= end else None
        position += LOG_OVERHEAD + size
    return next(
        (each for each in headers(pread, position, end) if each.last_offset >= offset), None
    )
