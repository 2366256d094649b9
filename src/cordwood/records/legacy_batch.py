"""A v0 or v1 message as a batch: itself, or the messages inside a wrapper (Kafka:
`AbstractLegacyRecordBatch`).

A wrapper is a message with codec bits and compressed messages as its value, each with its own
offset and size. The wrapper's offset is that of the last one inside.

    v0  the offsets inside are absolute
    v1  the offsets inside are relative: with RO = inner - last inner, absolute = wrapper + RO,
        so a wrapper at 1030 over 0..5 holds 1025..1030
    v1  at wrapper offset 0 the offsets inside are already absolute, since some clients leave it 0

`records` accepts the following; a kernel decides the same. For a plain message: lengths within the
message, fields that fill it exactly, no negative offset. For a wrapper, in addition:

1. The codec is gzip, snappy or lz4, and the value is not null.
2. At least one message inside, and the messages fill the uncompressed value exactly.
3. Each inner magic is 0 or 1, not necessarily the wrapper's (old brokers mixed them). There is no
   nested compression, and every checksum is right.
4. No offset inside is negative. In v1, except at wrapper offset 0, none is above the last one, and
   that is not above the wrapper's. Their order is not checked: a broker renumbers them.

Under LogAppendTime every v1 message inside has the wrapper's timestamp; v0 has no timestamps.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from cordwood.core.binary import INT64_MAX, INT64_MIN, Buffer, bytes_view
from cordwood.core.errors import BytesError, UnsupportedForMessageFormatError
from cordwood.records.batch_location import CODEC_BITS, BatchLocation
from cordwood.records.batch_view import BatchView
from cordwood.records.compression import DEFAULT_LIMIT, Codec
from cordwood.records.legacy_message import (
    LOG_APPEND_TIME_BIT,
    LegacyMessage,
    message_crc,
    message_size,
    read_message,
)
from cordwood.records.record import Record, TimestampType

_I8: Final = Struct(">b")
_U32: Final = Struct(">I")
_I64: Final = Struct(">q")


class LegacyBatch(BatchView):
    """A view of the v0 or v1 message at `position`, with the interface of a v2 batch."""

    __slots__ = ()

    # Fields that the old formats lack.
    partition_leader_epoch: Final = -1
    producer_id: Final = -1
    producer_epoch: Final = -1
    base_sequence: Final = -1
    last_sequence: Final = -1
    has_producer_id: Final = False
    is_transactional: Final = False
    is_control: Final = False
    has_delete_horizon: Final = False
    delete_horizon_ms: Final = None

    def __init__(self, buffer: Buffer, position: int = 0) -> None:
        self.view = bytes_view(buffer)
        self.position = position
        try:
            message_size(self.view, position, len(self.view))
        except BytesError as error:
            raise BatchLocation(position).corrupt(
                error.what, expected=error.expected, found=error.found
            ) from error

    def __repr__(self) -> str:
        return (
            f"LegacyBatch(magic={self.magic}, last_offset={self.last_offset}, size={self.size}, "
            f"attributes={self.attributes:#04x}, position={self.position})"
        )

    # -- the header

    @property
    def last_offset(self) -> int:
        """Return the message's own offset."""
        return self._i64(0)

    @property
    def crc(self) -> int:
        return self._u32(12)

    @property
    def magic(self) -> int:
        return self.view[self.position + 16]

    @property
    def attributes(self) -> int:
        return self._i8(17)

    @property
    def is_wrapper(self) -> bool:
        return bool(self.attributes & CODEC_BITS)

    @property
    def timestamp_type(self) -> TimestampType:
        return _timestamp_type(self.magic, self.attributes)

    @property
    def max_timestamp(self) -> int:
        """The message's timestamp, for a wrapper the latest inside; -1 in v0."""
        return self._i64(18) if self.magic else -1

    # -- the checksum

    def computed_crc(self) -> int:
        return message_crc(self.view, self.position, self.end)

    # -- the records

    @property
    def base_offset(self) -> int:
        """Return the first offset; a wrapper is decompressed for it, within the default limit.

        Use `records` for another limit.
        """
        return next(self.records()).offset if self.is_wrapper else self.last_offset

    @property
    def count(self) -> int:
        """The number of records; a wrapper is decompressed for it as for `base_offset`."""
        return sum(1 for _ in self.records()) if self.is_wrapper else 1

    def records(self, *, limit: int = DEFAULT_LIMIT) -> Iterator[Record]:
        """Yield the records; decompression is limited to `limit` bytes."""
        place = self.place
        message = _read_in_place(self.view, self.position, self.end, place=place)
        if not self.is_wrapper:
            if message.offset < 0:
                raise place.invalid(
                    "a negative offset", expected="at least 0", found=message.offset
                )
            yield _as_record(message, message.offset)
            return
        inner = self._unwrapped(message.value, limit)
        base, highest = self._base_and_highest(inner)
        is_stamped = self.timestamp_type is TimestampType.LOG_APPEND_TIME
        for start, end in _bounds(inner, place):
            record = self._read_inner(inner, start, end)
            if not 0 <= record.offset <= highest:
                raise place.invalid(
                    "an offset inside a wrapper that cannot be right",
                    expected=f"0 to {highest}",
                    found=record.offset,
                )
            if record.magic and is_stamped:
                stamped = record.attributes | LOG_APPEND_TIME_BIT
                record = record._replace(attributes=stamped, timestamp=self.max_timestamp)
            elif record.magic:
                record = record._replace(attributes=record.attributes & ~LOG_APPEND_TIME_BIT)
            yield _as_record(record, base + record.offset)

    def _unwrapped(self, value: memoryview | None, limit: int) -> memoryview:
        """Return the messages inside."""
        place, codec = self.place, self.codec
        if codec is Codec.ZSTD:
            raise place.invalid(
                "zstd in an old message", expected="gzip, snappy or lz4", found=codec.kafka_name
            )
        if value is None:
            raise place.invalid("a wrapper of nothing", expected="messages", found="null")
        inner = place.decompress(codec, value, magic=self.magic, limit=limit)
        if len(inner) == 0:
            raise place.invalid("a wrapper of nothing", expected="messages", found="0 bytes")
        return memoryview(inner)

    def _base_and_highest(self, inner: memoryview) -> tuple[int, int]:
        """Return the base of the inner offsets, and their maximum."""
        wrapper = self.last_offset
        if self.magic == 0 or wrapper == 0:
            return 0, INT64_MAX
        start = 0
        for start, _ in _bounds(inner, self.place):  # noqa: B007 - the last one is what counts
            pass
        last: int = _I64.unpack_from(inner, start)[0]
        if not 0 <= last <= wrapper:
            raise self.place.invalid(
                "the last offset inside a wrapper cannot be right",
                expected=f"0 to {wrapper}",
                found=last,
            )
        return wrapper - last, last

    def _read_inner(self, inner: memoryview, start: int, end: int) -> LegacyMessage:
        """Read a message inside, which is never a wrapper."""
        message = _read_in_place(inner, start, end, place=self.place)
        self.place.ensure_crc(
            message.crc, message_crc(inner, start, end), message="a checksum inside is wrong"
        )
        if message.attributes & CODEC_BITS:
            raise self.place.invalid(
                "compression inside a wrapper", expected="none", found=message.attributes
            )
        return message

    # -- fields that a broker sets in a message

    def set_last_offset(self, offset: int) -> None:
        """Move the message so that it ends at `offset`; v1 inner offsets are relative."""
        self.ensure_between("an offset to set", offset, lowest=0, highest=INT64_MAX)
        _I64.pack_into(self.view, self.position, offset)

    def set_log_append_time(self, now_ms: int) -> None:
        """Set the timestamp of every record to `now_ms`."""
        self._set_timestamp(self.attributes | LOG_APPEND_TIME_BIT, now_ms)

    def set_max_timestamp(self, timestamp: int) -> None:
        """Set the largest of the records' own timestamps."""
        self._set_timestamp(self.attributes & ~LOG_APPEND_TIME_BIT, timestamp)

    def _set_timestamp(self, attributes: int, timestamp: int) -> None:
        """Write both fields, and the checksum over them, only if one of them changes."""
        if self.magic == 0:
            raise UnsupportedForMessageFormatError("v0 messages have no timestamps")
        self.ensure_between("a timestamp to set", timestamp, lowest=INT64_MIN, highest=INT64_MAX)
        if (attributes, timestamp) == (self.attributes, self.max_timestamp):
            return
        _I8.pack_into(self.view, self.position + 17, attributes)
        _I64.pack_into(self.view, self.position + 18, timestamp)
        _U32.pack_into(self.view, self.position + 12, self.computed_crc())


def _timestamp_type(magic: int, attributes: int) -> TimestampType:
    if magic == 0:
        return TimestampType.NO_TIMESTAMP
    if attributes & LOG_APPEND_TIME_BIT:
        return TimestampType.LOG_APPEND_TIME
    return TimestampType.CREATE_TIME


def _as_record(message: LegacyMessage, offset: int) -> Record:
    return Record(
        offset,
        message.timestamp,
        _timestamp_type(message.magic, message.attributes),
        None if message.key is None else bytes(message.key),
        None if message.value is None else bytes(message.value),
    )


def _bounds(inner: memoryview, place: BatchLocation) -> Iterator[tuple[int, int]]:
    """Yield start and end of each message inside."""
    position = 0
    while position < len(inner):
        try:
            end = position + message_size(inner, position, len(inner))
        except BytesError as error:
            raise place.invalid(
                f"byte {error.position} inside the wrapper: {error.what}",
                expected=error.expected,
                found=error.found,
            ) from error
        yield position, end
        position = end


def _read_in_place(
    view: memoryview, position: int, end: int, *, place: BatchLocation
) -> LegacyMessage:
    """Read a message, and add its location to an error."""
    try:
        return read_message(view, position, end)
    except BytesError as error:
        raise place.invalid(
            f"byte {error.position - position} of the message: {error.what}",
            expected=error.expected,
            found=error.found,
        ) from error
