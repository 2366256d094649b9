"""Kernel of `records.record_checks`: the records of one v2 batch, read for an append.

The kernel takes the range of the records, decompressed if necessary, and the three header fields to
check them against. It returns four words, the first of them -1 for an invalid record; the plain
reader then raises the error.

Messages of the old formats go to the plain twin: an append rewrites each of them as a v2 record, so
one more read costs little in comparison.
"""

import threading
from struct import Struct
from typing import Final, NamedTuple, NoReturn

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import CordwoodError, InvalidRecordError
from cordwood.records.batch_location import CODEC_BITS
from cordwood.records.batch_stream import AnyBatch
from cordwood.records.compression import DEFAULT_LIMIT, Codec
from cordwood.records.kernels.intrinsics import wrapping_sum
from cordwood.records.kernels.kernel_definition import INT, SOURCE, Bytes, kernel, several
from cordwood.records.kernels.room import Room, Stretch, source_of
from cordwood.records.kernels.v2_record import (
    R_KEY_SIZE,
    R_OFFSET,
    R_STOP,
    R_TIMESTAMP,
    is_inside,
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
    if not is_inside(source, position, end):
        return -1, 0, 0, 0
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


class _Rooms(threading.local):
    """The room of the calling thread."""

    def __init__(self) -> None:
        self.room = Room()


class KernelInspector:
    """An inspector with the kernel; keeps a room for decompressed records for each thread."""

    __slots__ = ("_rooms",)

    is_compiled: Final = True

    def __init__(self) -> None:
        self._rooms = _Rooms()

    def inspect(self, batch: AnyBatch, *, limit: int = DEFAULT_LIMIT) -> BatchFacts:
        """Return the facts of a batch; see `Inspector`."""
        if not isinstance(batch, RecordBatch):
            return _PLAIN.inspect(batch, limit=limit)
        header = read_record_header(batch)
        records = read_range(batch, header, self._rooms.room, limit=limit)
        if records is None:
            _refuse(batch, limit)
        attributes, last_delta, base_timestamp, stamp, base_offset, count = header
        found = read_through(*records, count, last_delta, base_timestamp)
        stop, earliest, latest, keyless = found
        if stop < 0:
            _refuse(batch, limit)
        if attributes & LOG_APPEND_TIME_BIT and count:
            earliest, latest = stamp, max(stamp, NO_TIMESTAMP)
        return BatchFacts(count, base_offset, count == last_delta + 1, earliest, latest, keyless)


class RecordHeader(NamedTuple):
    """The fields of a batch's header that its records depend on."""

    attributes: int
    last_delta: int
    base_timestamp: int
    max_timestamp: int
    base_offset: int
    record_count: int


def read_record_header(batch: RecordBatch) -> RecordHeader:
    """Return the header fields as they are, valid or not."""
    view, at = batch.view, batch.position
    attributes, last_delta, base_timestamp, stamp = _STAMPS.unpack_from(view, at + 21)
    return RecordHeader(
        attributes,
        last_delta,
        base_timestamp,
        stamp,
        base_offset=_BASE_OFFSET.unpack_from(view, at)[0],
        record_count=_COUNT.unpack_from(view, at + 57)[0],
    )


def read_range(
    batch: RecordBatch, header: RecordHeader, room: Room, *, limit: int
) -> Stretch | None:
    """Return the range of the records, decompressed into `room` if necessary.

    None if they cannot be decompressed, or if the offsets or the count of the header are invalid.
    """
    if header.attributes & CODEC_BITS == Codec.NONE:
        records = source_of(batch.view), batch.position + HEADER_SIZE, batch.end
    else:
        unpacked = _unpack(batch, room, limit=limit)
        if unpacked is None:
            return None
        records = unpacked
    _, start, end = records
    is_right = header.last_delta >= 0 and 0 <= header.base_offset <= INT64_MAX - header.last_delta
    is_right = is_right and 0 <= header.record_count <= (end - start) // SMALLEST_RECORD
    return records if is_right else None


def _unpack(batch: RecordBatch, room: Room, *, limit: int) -> Stretch | None:
    """Decompress the records; None if they are bad."""
    try:
        codec, packed = batch.codec, batch.payload
    except CordwoodError:
        return None
    return room.unpack(codec, packed, limit=limit)


def _refuse(batch: RecordBatch, limit: int) -> NoReturn:
    """Raise the error of a batch."""
    _PLAIN.inspect(batch, limit=limit)
    raise InvalidRecordError(
        "the kernel rejects a batch that the plain reader accepts",
        position=batch.position,
        base_offset=batch.base_offset,
    )
