"""Lines of v0 and v1 messages, alone or in a wrapper, as Kafka's dump tool prints them.

    | offset: 3 CreateTime: 1000 keySize: 1 valueSize: 1 isValid: true crc: 3840090556

The data follow, as in the line of a v2 record. The offset of a magic 1 wrapper is that of its last
message. With log append time, its timestamp replaces that of the magic 1 messages in it. Checksums
and the order inside a wrapper are printed, not verified. A truncated message in it is left out.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.binary import Buffer, crc32
from cordwood.records.batch_location import CODEC_BITS, BatchLocation
from cordwood.records.compression import Codec
from cordwood.records.legacy_message import CRC_START, KEY_AT, LOG_OVERHEAD, SMALLEST_SIZE
from cordwood.records.record import TimestampType
from cordwood.records.record_lines import (
    LABELS,
    LineStyle,
    RecordLines,
    gather,
    lines_of,
)
from cordwood.workbench.dump.batch_lines import DumpedBatch

_PREFIX: Final = Struct(">qiIbb")
_TIMESTAMP: Final = Struct(">q")
_LENGTH: Final = Struct(">i")


class DumpedMessage(NamedTuple):
    """A message as stored; its sizes are validated only when key or value are read."""

    offset: int
    magic: int
    attributes: int
    timestamp: int
    crc: int
    view: memoryview
    place: BatchLocation

    @property
    def is_valid(self) -> bool:
        return self.crc == crc32(self.view[CRC_START:])

    @property
    def key_size(self) -> int:
        return self._length(KEY_AT[self.magic != 0])

    @property
    def value_size(self) -> int:
        return self._length(self._value_at)

    @property
    def key(self) -> bytes | None:
        return self._bytes(KEY_AT[self.magic != 0] + _LENGTH.size, self.key_size)

    @property
    def value(self) -> bytes | None:
        return self._bytes(self._value_at + _LENGTH.size, self.value_size)

    @property
    def _value_at(self) -> int:
        return KEY_AT[self.magic != 0] + _LENGTH.size + max(self.key_size, 0)

    def _length(self, at: int) -> int:
        room = len(self.view) - at
        if room < _LENGTH.size:
            raise self.place.invalid("no room for a length", expected=_LENGTH.size, found=room)
        length: int = _LENGTH.unpack_from(self.view, at)[0]
        return length

    def _bytes(self, at: int, size: int) -> bytes | None:
        if size < 0:
            return None
        room = len(self.view) - at
        if size > room:
            raise self.place.invalid(
                "a length beyond its message", expected=f"at most {room}", found=size
            )
        return bytes(self.view[at : at + size])


def message_lines(batch: DumpedBatch, style: LineStyle, *, previous: int) -> RecordLines:
    """Return the lines of an old batch, up to its first error."""
    label = LABELS[batch.timestamp_type]
    found = messages(batch, limit=style.limit)
    lines = lines_of(found, style, metadata=lambda message: _metadata(message, label))
    return gather(lines, style, previous=previous)


def messages(batch: DumpedBatch, *, limit: int) -> Iterator[DumpedMessage]:
    """Yield the message itself, or the messages in it if it is a wrapper."""
    outer = _read(batch.view[: batch.size], batch.place)
    codec = batch.place.codec(outer.attributes)
    if codec is Codec.NONE:
        yield outer
        return
    value = outer.value
    if codec is Codec.ZSTD or value is None:
        raise batch.place.invalid(
            "an unreadable wrapper",
            expected="gzip, snappy or lz4",
            found="null" if value is None else codec.kafka_name,
        )
    data = batch.place.decompress(codec, memoryview(value), magic=outer.magic, limit=limit)
    inside = [_read(each, batch.place) for each in _split(data, batch.place)]
    if not inside:
        raise batch.place.invalid("an empty wrapper", expected="messages", found=len(data))
    base = _base_of(outer, inside[-1].offset, batch.place)
    is_stamped = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    for message in inside:
        if message.attributes & CODEC_BITS:
            raise batch.place.invalid(
                "compression inside a wrapper", expected="none", found=message.attributes
            )
        timestamp = outer.timestamp if is_stamped and message.magic else message.timestamp
        yield message._replace(offset=base + message.offset, timestamp=timestamp)


def _base_of(outer: DumpedMessage, last: int, place: BatchLocation) -> int:
    """Return the offset to add to the offsets in a wrapper."""
    if outer.magic == 0 or outer.offset == 0:
        return 0
    if outer.offset < last:
        raise place.invalid(
            "an impossible last offset inside a wrapper",
            expected=f"at most {outer.offset}",
            found=last,
        )
    return outer.offset - last


def _split(data: Buffer, place: BatchLocation) -> Iterator[memoryview]:
    """Yield the bytes of each message inside."""
    view = memoryview(data)
    at = 0
    while len(view) - at >= LOG_OVERHEAD:
        length: int = _LENGTH.unpack_from(view, at + 8)[0]
        if length < SMALLEST_SIZE[0]:
            raise place.corrupt(
                "an impossible message size",
                expected=f"at least {SMALLEST_SIZE[0]}",
                found=length,
            )
        end = at + LOG_OVERHEAD + length
        if end > len(view):
            return
        yield view[at:end]
        at = end


def _read(view: memoryview, place: BatchLocation) -> DumpedMessage:
    """Parse a message; its view may be longer than its fields."""
    offset, _, crc, magic, attributes = _PREFIX.unpack_from(view)
    is_dated = magic != 0
    if len(view) < LOG_OVERHEAD + SMALLEST_SIZE[is_dated]:
        raise place.corrupt(
            "a message that is too short for its fields",
            expected=LOG_OVERHEAD + SMALLEST_SIZE[is_dated],
            found=len(view),
        )
    timestamp = _TIMESTAMP.unpack_from(view, 18)[0] if is_dated else -1
    return DumpedMessage(offset, magic, attributes, timestamp, crc, view, place)


def _metadata(message: DumpedMessage, label: bytes) -> bytes:
    return b"| offset: %d %s: %d keySize: %d valueSize: %d isValid: %s crc: %d" % (
        message.offset,
        label,
        message.timestamp,
        message.key_size,
        message.value_size,
        b"true" if message.is_valid else b"false",
        message.crc,
    )
