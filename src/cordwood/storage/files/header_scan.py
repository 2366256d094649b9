"""Headers of the batches in a file (Kafka: `FileLogInputStream`).

The headers are read through windows that are small compared with batches. A scan ends without an
error at an incomplete batch and at the given end. It raises where a batch cannot begin: at zeros or
in the middle of a batch, for example.
"""

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final, TypeAlias

from cordwood.core.binary import Buffer
from cordwood.records.batch_header import LARGEST_HEADER, BatchHeader, read_header
from cordwood.records.batch_stream import PREFIX_SIZE
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.records.record_batch import MAGIC

#: Return a number of bytes from a position of the file; fewer only at its end.
Pread: TypeAlias = Callable[[int, int], Buffer]

WINDOW_SIZE: Final = 4096

_PREFIX: Final = Struct(">qi4xb6xi")
_PASSABLE_SIZE: Final = LARGEST_HEADER - LOG_OVERHEAD


def headers(pread: Pread, position: int, end: int) -> Iterator[BatchHeader]:
    """Yield the header of every whole batch between `position` and `end`."""
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


def find_batch(pread: Pread, position: int, end: int, *, offset: int) -> BatchHeader | None:
    """Return the first batch from `position` on whose last offset is `offset` or above.

    Kafka: `FileRecords.searchForOffsetFromPosition`.
    """
    # Of the earlier batches only the offsets and the size are decoded.
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
