"""The lines that Kafka's dump tool prints for messages of the old formats, alone or in a wrapper.

    | offset: 3 CreateTime: 1000 keySize: 1 valueSize: 1 isValid: true crc: 3838976956

Behind it comes the data, as in a v2 record's line. A wrapper of magic 1 dates the messages of
magic 1 in it when the log set its time, and its own offset is that of the last message in it;
checksums and the order inside are printed, not checked. What is cut off in it is left out.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.binary import Buffer, crc32
from cordwood.records.compression import Codec
from cordwood.records.lines import (
    LABELS,
    Line,
    LineStyle,
    RecordLines,
    data_of,
    gather,
    size_of,
)
from cordwood.records.message import CRC_START, LOG_OVERHEAD, SMALLEST_SIZE
from cordwood.records.place import CODEC_BITS, Place
from cordwood.records.record import TimestampType
from cordwood.workbench.dump_batches import DumpedBatch

_PREFIX: Final = Struct(">qiIbb")
_TIMESTAMP: Final = Struct(">q")
_LENGTH: Final = Struct(">i")
_KEY_AT: Final = (18, 26)


class DumpedMessage(NamedTuple):
    """A message as its bytes have it."""

    offset: int
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    crc: int
    is_valid: bool


def message_lines(batch: DumpedBatch, style: LineStyle, *, previous: int) -> RecordLines:
    """Return the lines of an old batch, up to its first fault."""
    return gather(_lines(batch, style), style, previous=previous)


def _lines(batch: DumpedBatch, style: LineStyle) -> Iterator[Line]:
    label = LABELS[batch.timestamp_type]
    for message in messages(batch, limit=style.limit):
        text = _metadata(message, label) if style.has_metadata else b""
        if style.has_data:
            text += data_of(message.key, message.value, style)
        yield Line(message.offset, message.timestamp, text)


def messages(batch: DumpedBatch, *, limit: int) -> Iterator[DumpedMessage]:
    """Yield the message itself, or those in it."""
    outer = _read(batch.view[: batch.size], batch.place)
    codec = batch.place.codec(outer.attributes)
    if codec is Codec.NONE:
        yield outer
        return
    if codec is Codec.ZSTD or outer.value is None:
        raise batch.place.invalid(
            "a wrapper that holds nothing readable",
            expected="gzip, snappy or lz4",
            found="null" if outer.value is None else codec.kafka_name,
        )
    data = batch.place.decompress(codec, memoryview(outer.value), magic=outer.magic, limit=limit)
    inside = [_read(each, batch.place) for each in _split(data, batch.place)]
    if not inside:
        raise batch.place.invalid("a wrapper of nothing", expected="messages", found=len(data))
    base = _base_of(outer, inside[-1].offset, batch.place)
    is_stamped = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    for message in inside:
        if message.attributes & CODEC_BITS:
            raise batch.place.invalid(
                "compression inside a wrapper", expected="none", found=message.attributes
            )
        timestamp = outer.timestamp if is_stamped and message.magic else message.timestamp
        yield message._replace(offset=base + message.offset, timestamp=timestamp)


def _base_of(outer: DumpedMessage, last: int, place: Place) -> int:
    """Return what to add to the offsets in a wrapper."""
    if outer.magic == 0 or outer.offset == 0:
        return 0
    if outer.offset < last:
        raise place.invalid(
            "the last offset inside a wrapper cannot be right",
            expected=f"at most {outer.offset}",
            found=last,
        )
    return outer.offset - last


def _split(data: Buffer, place: Place) -> Iterator[memoryview]:
    """Yield the stretch of each message inside."""
    view = memoryview(data)
    at = 0
    while len(view) - at >= LOG_OVERHEAD:
        length: int = _LENGTH.unpack_from(view, at + 8)[0]
        if length < SMALLEST_SIZE[0]:
            raise place.corrupt(
                "a message size that cannot be right",
                expected=f"at least {SMALLEST_SIZE[0]}",
                found=length,
            )
        end = at + LOG_OVERHEAD + length
        if end > len(view):
            return
        yield view[at:end]
        at = end


def _read(view: memoryview, place: Place) -> DumpedMessage:
    """Read a message that fills its stretch, or more than fills it."""
    offset, _, crc, magic, attributes = _PREFIX.unpack_from(view)
    is_dated = magic != 0
    if len(view) < LOG_OVERHEAD + SMALLEST_SIZE[is_dated]:
        raise place.corrupt(
            "a message without room for its fields",
            expected=LOG_OVERHEAD + SMALLEST_SIZE[is_dated],
            found=len(view),
        )
    timestamp = _TIMESTAMP.unpack_from(view, 18)[0] if is_dated else -1
    key, at = _read_nullable(view, _KEY_AT[is_dated], place)
    value, _ = _read_nullable(view, at, place)
    is_valid = crc == crc32(view[CRC_START:])
    return DumpedMessage(offset, magic, attributes, timestamp, key, value, crc, is_valid)


def _read_nullable(view: memoryview, at: int, place: Place) -> tuple[bytes | None, int]:
    if len(view) - at < _LENGTH.size:
        raise place.invalid("no room for a length", expected=4, found=len(view) - at)
    size: int = _LENGTH.unpack_from(view, at)[0]
    at += _LENGTH.size
    if size < 0:
        return None, at
    if size > len(view) - at:
        raise place.invalid(
            "a length beyond its message", expected=f"at most {len(view) - at}", found=size
        )
    return bytes(view[at : at + size]), at + size


def _metadata(message: DumpedMessage, label: bytes) -> bytes:
    return b"| offset: %d %s: %d keySize: %d valueSize: %d isValid: %s crc: %d" % (
        message.offset,
        label,
        message.timestamp,
        size_of(message.key),
        size_of(message.value),
        b"true" if message.is_valid else b"false",
        message.crc,
    )
