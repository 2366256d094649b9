"""Kernel of `records.record_checks`: the records of one v2 batch, read for an append.

The kernel takes the range of the records, decompressed if necessary, and the three header fields to
check them against. It returns four words, the first of them -1 for an invalid record; the plain
reader then raises the error.

Messages of the old formats go to the plain twin: an append rewrites each of them as a v2 record, so
one more read costs little in comparison.
"""

from struct import Struct
from typing import Final, NoReturn

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import CordwoodError, InvalidRecordError
from cordwood.records.batch_location import CODEC_BITS
from cordwood.records.batch_stream import AnyBatch
from cordwood.records.compression import DEFAULT_LIMIT, Codec
from cordwood.records.kernels.arena import Room, Stretch, read_only
from cordwood.records.kernels.intrinsics import wrapping_sum
from cordwood.records.kernels.numba_jit import INT, SOURCE, Bytes, kernel, several
from cordwood.records.kernels.v2_record import (
    R_KEY_SIZE,
    R_OFFSET,
    R_STOP,
    R_TIMESTAMP,
    read_record,
)
from cordwood.records.record_batch import HEADER_SIZE, LOG_APPEND_TIME_BIT, RecordBatch
from cordwood.records.record_checks import BatchFacts, PlainInspector
from cordwood.records.v2_record import SMALLEST_RECORD

NO_TIMESTAMP: Final = -1
_PLAIN: Final = PlainInspector()

#: Attributes, last offset delta, base and max timestamp; 21 .. 43 of a header.
_STAMPS: Final = Struct(">hiqq")
_BASE_OFFSET: Final = Struct(">q")
_COUNT: Final = Struct(">i")


@kernel(several(4), SOURCE, INT, INT, INT, INT, INT)
def read_through(
    source: Bytes, position: int, end: int, count: int, last_delta: int, base_timestamp: int
) -> tuple[int, int, int, int]:
    """Read the records; return end, earliest and latest time, and the count without a key."""
    earliest = INT64_MAX
    latest = NO_TIMESTAMP
    keyless = 0
    lowest = 0
    for _ in range(count):
        record = read_record(source, position, end)
        position = record[R_STOP]
        if position < 0 or record[R_OFFSET] < lowest or record[R_OFFSET] > last_delta:
            return -1, 0, 0, 0
        lowest = record[R_OFFSET] + 1
        timestamp = wrapping_sum(base_timestamp, record[R_TIMESTAMP])
        if timestamp != NO_TIMESTAMP:
            earliest = min(earliest, timestamp)
            latest = max(latest, timestamp)
        if record[R_KEY_SIZE] < 0:
            keyless += 1
    if position != end:
        position = -1
    if latest == NO_TIMESTAMP and earliest == INT64_MAX:
        earliest = NO_TIMESTAMP
    return position, earliest, latest, keyless


class KernelInspector:
    """An inspector with the kernel; keeps its room for decompressed records between batches."""

    __slots__ = ("_room",)

    def __init__(self) -> None:
        self._room = Room()

    def inspect(self, batch: AnyBatch, *, limit: int = DEFAULT_LIMIT) -> BatchFacts:
        """Return the facts of a batch; see `Inspector`."""
        if not isinstance(batch, RecordBatch):
            return _PLAIN.inspect(batch, limit=limit)
        view, at = batch.view, batch.position
        count: int = _COUNT.unpack_from(view, at + 57)[0]
        attributes, last_delta, base_timestamp, stamp = _STAMPS.unpack_from(view, at + 21)
        records = (
            _as_it_lies(batch)
            if attributes & CODEC_BITS == Codec.NONE
            else self._unpack(batch, limit)
        )
        if records is None:
            _refuse(batch, limit)
        source, start, end = records
        base_offset: int = _BASE_OFFSET.unpack_from(view, at)[0]
        is_right = 0 <= base_offset <= INT64_MAX - last_delta and last_delta >= 0
        if not is_right or not 0 <= count <= (end - start) // SMALLEST_RECORD:
            _refuse(batch, limit)
        found = read_through(source, start, end, count, last_delta, base_timestamp)
        stop, earliest, latest, keyless = found
        if stop < 0:
            _refuse(batch, limit)
        if attributes & LOG_APPEND_TIME_BIT and count:
            earliest, latest = stamp, max(stamp, NO_TIMESTAMP)
        return BatchFacts(count, base_offset, count == last_delta + 1, earliest, latest, keyless)

    def _unpack(self, batch: RecordBatch, limit: int) -> Stretch | None:
        """Decompress the records; None if they are bad."""
        try:
            codec, packed = batch.codec, batch.payload
        except CordwoodError:
            return None
        return self._room.unpack(codec, packed, limit=limit)


def _as_it_lies(batch: RecordBatch) -> Stretch:
    """Return the range of the records of an uncompressed batch."""
    return read_only(batch.view), batch.position + HEADER_SIZE, batch.end


def _refuse(batch: RecordBatch, limit: int) -> NoReturn:
    """Raise the error of a batch."""
    _PLAIN.inspect(batch, limit=limit)
    raise InvalidRecordError(
        "the kernel rejects a batch that the plain reader accepts",
        position=batch.position,
        base_offset=batch.base_offset,
    )
