"""View of a v2 batch; each field is read from the buffer on access (Kafka: `DefaultRecordBatch`).

     0  i64  base offset                   |  27  i64  base timestamp, or the delete horizon
     8  i32  length of all that follows    |  35  i64  max timestamp
    12  i32  partition leader epoch, or -1 |  43  i64  producer id, or -1
    16  i8   magic, 2                      |  51  i16  producer epoch, or -1
    17  u32  CRC-32C over 21 .. end        |  53  i32  base sequence, or -1
    21  i16  attributes                    |  57  i32  number of records
    23  i32  last offset delta             |  61  ...  records, compressed or plain

    attributes  0-2 codec | 3 LogAppendTime | 4 transactional | 5 control | 6 delete horizon

Offset, length, leader epoch and magic are outside the checksum, so a broker assigns them in place.

`records` accepts the following, checked in this order; a kernel decides the same:

1. 0 <= base offset, 0 <= last offset delta, and the last offset has 64 bits.
2. 0 <= count, and at most one record per 7 bytes of uncompressed records.
3. Each record is valid by itself (`v2_record`): lengths within the batch, fields that fill the
   record's length exactly, no header key null.
4. Offset deltas begin at 0 or above, increase strictly and end at or below the last offset delta.
   Kafka does not check that, but a log with decreasing offsets cannot be searched.
5. No bytes remain after the last record, not even in an empty batch.

Timestamp deltas are free: the sum wraps at 64 bits, as in Kafka. Under LogAppendTime every record
has the batch's max timestamp.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.binary import (
    INT32_MAX,
    INT32_MIN,
    INT64_MAX,
    INT64_MIN,
    Buffer,
    bytes_view,
    crc32c,
)
from cordwood.core.errors import BytesError
from cordwood.records.batch_location import BatchLocation
from cordwood.records.batch_view import BatchView
from cordwood.records.compression import DEFAULT_LIMIT, Codec
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.records.record import Record, TimestampType
from cordwood.records.sequence import increment_sequence
from cordwood.records.v2_record import SMALLEST_RECORD, V2Record, read_v2_record, wrap_int64

HEADER_SIZE: Final = 61
CRC_START: Final = 21
MAGIC: Final = 2

LOG_APPEND_TIME_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40

_PREFIX: Final = Struct(">qiib")
_I16: Final = Struct(">h")
_I32: Final = Struct(">i")
_U32: Final = Struct(">I")
_I64: Final = Struct(">q")


class _Common(NamedTuple):
    """The header fields that a record needs."""

    base_offset: int
    base_timestamp: int
    log_append_time: int | None
    base_sequence: int


class RecordBatch(BatchView):
    """A view of the v2 batch that begins at `position`."""

    __slots__ = ()

    magic: Final = MAGIC

    def __init__(self, buffer: Buffer, position: int = 0) -> None:
        self.view = bytes_view(buffer)
        self.position = position
        _ensure_fits(self.view, position)

    def __repr__(self) -> str:
        return (
            f"RecordBatch(offsets={self.base_offset}..{self.last_offset}, count={self.count}, "
            f"size={self.size}, attributes={self.attributes:#06x}, position={self.position})"
        )

    # -- the header, in its own order

    @property
    def base_offset(self) -> int:
        return self._i64(0)

    @property
    def partition_leader_epoch(self) -> int:
        return self._i32(12)

    @property
    def crc(self) -> int:
        return self._u32(17)

    @property
    def attributes(self) -> int:
        return self._i16(21)

    @property
    def last_offset_delta(self) -> int:
        return self._i32(23)

    @property
    def base_timestamp(self) -> int:
        return self._i64(27)

    @property
    def max_timestamp(self) -> int:
        return self._i64(35)

    @property
    def producer_id(self) -> int:
        return self._i64(43)

    @property
    def producer_epoch(self) -> int:
        return self._i16(51)

    @property
    def base_sequence(self) -> int:
        return self._i32(53)

    @property
    def count(self) -> int:
        """Return the number of records according to the header."""
        return self._i32(57)

    # -- derived from the header

    @property
    def payload(self) -> memoryview:
        """Return the records as stored."""
        return self.view[self.position + HEADER_SIZE : self.end]

    @property
    def timestamp_type(self) -> TimestampType:
        if self.attributes & LOG_APPEND_TIME_BIT:
            return TimestampType.LOG_APPEND_TIME
        return TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def has_delete_horizon(self) -> bool:
        return bool(self.attributes & DELETE_HORIZON_BIT)

    @property
    def delete_horizon_ms(self) -> int | None:
        """Return the time after which tombstones and markers may be removed, if the cleaner has set
        it.
        """
        return self.base_timestamp if self.has_delete_horizon else None

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id >= 0

    @property
    def last_sequence(self) -> int:
        base = self.base_sequence
        return increment_sequence(base, self.last_offset_delta) if base >= 0 else -1

    # -- the checksum

    def computed_crc(self) -> int:
        return crc32c(self.view[self.position + CRC_START : self.end])

    # -- the records

    def records(self, *, limit: int = DEFAULT_LIMIT) -> Iterator[Record]:
        """Yield the records; decompression is limited to `limit` bytes.

        Records before a fault are yielded first. The caller checks the checksum.
        """
        data = self.uncompressed(limit=limit)
        common = self._common()
        for record in self.raw_records(data):
            yield _as_record(record, common)

    def uncompressed(self, *, limit: int = DEFAULT_LIMIT) -> Buffer:
        """Return the uncompressed record bytes, after a check of the offsets in the header."""
        place, codec = self.place, self.codec
        if self.base_offset < 0 or self.last_offset_delta < 0 or self.last_offset > INT64_MAX:
            raise place.invalid(
                "offsets that cannot be right",
                expected=f"0 <= base <= last <= {INT64_MAX}",
                found=f"{self.base_offset} + {self.last_offset_delta}",
            )
        if codec is Codec.NONE:
            return self.payload
        return place.decompress(codec, self.payload, magic=MAGIC, limit=limit)

    def raw_records(self, data: Buffer) -> Iterator[V2Record]:
        """Yield the records without the fields of their batch; `data` comes from `uncompressed`."""
        place, last_delta, count = self.place, self.last_offset_delta, self.count
        if not 0 <= count <= len(data) // SMALLEST_RECORD:
            raise place.invalid(
                "a record count that cannot be right",
                expected=f"0 to {len(data) // SMALLEST_RECORD} in {len(data)} bytes",
                found=count,
            )
        at, lowest = 0, 0
        for index in range(count):
            record = _read_in_place(data, at, index, place=place)
            if not lowest <= record.offset_delta <= last_delta:
                raise place.invalid(
                    f"record {index}: an offset delta out of order",
                    expected=f"{lowest} to {last_delta}",
                    found=record.offset_delta,
                )
            at, lowest = record.end, record.offset_delta + 1
            yield record
        if at != len(data):
            raise place.invalid(f"bytes remain after {count} records", expected=at, found=len(data))

    def _common(self) -> "_Common":
        """Read the header fields that every record needs, once."""
        return _Common(
            self.base_offset,
            self.base_timestamp,
            self.max_timestamp if self.attributes & LOG_APPEND_TIME_BIT else None,
            self.base_sequence,
        )

    # -- fields that a broker sets in a batch

    def set_base_offset(self, offset: int) -> None:
        highest = INT64_MAX - max(self.last_offset_delta, 0)
        self.ensure_between("a base offset to set", offset, lowest=0, highest=highest)
        _I64.pack_into(self.view, self.position, offset)

    def set_last_offset(self, offset: int) -> None:
        """Move the batch so that it ends at `offset`."""
        self.set_base_offset(offset - self.last_offset_delta)

    def set_partition_leader_epoch(self, epoch: int) -> None:
        self.ensure_between("a leader epoch to set", epoch, lowest=INT32_MIN, highest=INT32_MAX)
        _I32.pack_into(self.view, self.position + 12, epoch)

    def set_log_append_time(self, now_ms: int) -> None:
        """Set the timestamp of every record to `now_ms`, in the header alone."""
        self._set_timestamp(self.attributes | LOG_APPEND_TIME_BIT, now_ms)

    def set_max_timestamp(self, timestamp: int) -> None:
        """Set the largest of the records' own timestamps."""
        self._set_timestamp(self.attributes & ~LOG_APPEND_TIME_BIT, timestamp)

    def _set_timestamp(self, attributes: int, timestamp: int) -> None:
        """Write both fields, and the checksum over them, only if one of them changes."""
        self.ensure_between("a timestamp to set", timestamp, lowest=INT64_MIN, highest=INT64_MAX)
        if (attributes, timestamp) == (self.attributes, self.max_timestamp):
            return
        _I16.pack_into(self.view, self.position + 21, attributes)
        _I64.pack_into(self.view, self.position + 35, timestamp)
        _U32.pack_into(self.view, self.position + 17, self.computed_crc())


def _ensure_fits(view: memoryview, position: int) -> None:
    """Raise an error for a position without a whole v2 batch."""
    room = len(view) - position
    if position < 0 or room < HEADER_SIZE:
        raise BatchLocation(position).corrupt(
            "no room for a v2 header", expected=f"at least {HEADER_SIZE} bytes", found=max(room, 0)
        )
    offset, length, _, magic = _PREFIX.unpack_from(view, position)
    if magic != MAGIC:
        raise BatchLocation(position, offset).corrupt(
            "not a v2 batch", expected=f"magic {MAGIC}", found=magic
        )
    if not HEADER_SIZE <= length + LOG_OVERHEAD <= room:
        raise BatchLocation(position, offset).corrupt(
            "a batch length that cannot be right",
            expected=f"{HEADER_SIZE - LOG_OVERHEAD} to {room - LOG_OVERHEAD}",
            found=length,
        )


def _read_in_place(data: Buffer, position: int, index: int, *, place: BatchLocation) -> V2Record:
    """Read record number `index`, and add its number to an error."""
    try:
        return read_v2_record(data, position, len(data))
    except BytesError as error:
        raise place.invalid(
            f"record {index}, byte {error.position} of the records: {error.what}",
            expected=error.expected,
            found=error.found,
        ) from error


def _as_record(record: V2Record, common: _Common) -> Record:
    """Return a record with the fields of its batch."""
    base_offset, base_timestamp, log_append_time, base_sequence = common
    delta = record.offset_delta
    if log_append_time is None:
        timestamp = wrap_int64(base_timestamp + record.timestamp_delta)
        timestamp_type = TimestampType.CREATE_TIME
    else:
        timestamp, timestamp_type = log_append_time, TimestampType.LOG_APPEND_TIME
    return Record(
        base_offset + delta,
        timestamp,
        timestamp_type,
        record.key,
        record.value,
        record.headers,
        increment_sequence(base_sequence, delta) if base_sequence >= 0 else -1,
    )
