"""Batches of a log file as Kafka's dump tool reads them, and the line it prints for each.

The tool is less strict than a log: it reads every magic from 2 up as 2, every lower one as an old
message, and prints batches with wrong checksums. A walk ends if fewer than 18 bytes remain or a
batch is truncated; an impossible batch size is an error.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.binary import crc32, crc32c
from cordwood.records.batch_location import CODEC_BITS, BatchLocation
from cordwood.records.batch_stream import PREFIX_SIZE
from cordwood.records.compression import Codec
from cordwood.records.decoder import Selection
from cordwood.records.legacy_message import CRC_START as MESSAGE_CRC_START
from cordwood.records.legacy_message import LOG_OVERHEAD, SMALLEST_SIZE
from cordwood.records.record import TimestampType
from cordwood.records.record_batch import (
    CONTROL_BIT,
    CRC_START,
    HEADER_SIZE,
    MAGIC,
    TRANSACTIONAL_BIT,
    RecordBatch,
)
from cordwood.records.record_batch import DELETE_HORIZON_BIT as HORIZON_BIT
from cordwood.records.record_batch import LOG_APPEND_TIME_BIT as STAMP_BIT
from cordwood.records.record_lines import LABELS, java_increment
from cordwood.records.v2_record import wrap_int64
from cordwood.workbench.file_window import WINDOW_BYTES, FileWindow

_PREFIX: Final = Struct(">qi4xb")
_V2: Final = Struct(">q4xi1xIhiqqqhii")
_TIMESTAMP: Final = Struct(">q")
_MESSAGE_HEADERS: Final = (18, 26)
_MAGIC_AT: Final = 16
_CODEC_NAMES: Final = {int(codec): codec.kafka_name.encode() for codec in Codec}


class DumpedBatch(NamedTuple):
    """A batch at its position. `view` contains its bytes, and at least a whole header."""

    position: int
    size: int
    magic: int
    base_offset: int
    view: memoryview

    @property
    def is_old(self) -> bool:
        return self.magic < MAGIC

    @property
    def place(self) -> BatchLocation:
        return BatchLocation(self.position, self.base_offset)

    @property
    def last_offset(self) -> int:
        if self.is_old:
            return self.base_offset
        return wrap_int64(self.base_offset + int.from_bytes(self.view[23:27], signed=True))

    @property
    def attributes(self) -> int:
        if self.is_old:
            return self.view[17]
        return int.from_bytes(self.view[21:23])

    @property
    def timestamp_type(self) -> TimestampType:
        if self.magic == 0:
            return TimestampType.NO_TIMESTAMP
        if self.attributes & STAMP_BIT:
            return TimestampType.LOG_APPEND_TIME
        return TimestampType.CREATE_TIME

    @property
    def max_timestamp(self) -> int:
        if self.magic == 0:
            return -1
        timestamp: int = _TIMESTAMP.unpack_from(self.view, 18 if self.is_old else 35)[0]
        return timestamp

    @property
    def is_control(self) -> bool:
        return not self.is_old and bool(self.attributes & CONTROL_BIT)

    @property
    def crc(self) -> int:
        return int.from_bytes(self.view[12:16] if self.is_old else self.view[17:21])

    def is_valid(self) -> bool:
        """Return whether the checksum is valid."""
        if self.is_old:
            return self.crc == crc32(self.view[MESSAGE_CRC_START : self.size])
        return self.size >= HEADER_SIZE and self.crc == crc32c(self.view[CRC_START : self.size])

    def is_selected(self, selection: Selection | None) -> bool:
        """Return whether a record of the batch may be in the selection."""
        if selection is None:
            return True
        first = 0 if self.is_old else self.base_offset
        return first <= selection.last_offset and not selection.is_outside(
            first, self.last_offset, max_timestamp=self.max_timestamp
        )

    def as_v2(self) -> RecordBatch:
        """Return the batch for reading its records, with magic 2 instead of its own."""
        if self.magic == MAGIC:
            return RecordBatch(self.view[: self.size])
        copied = bytearray(self.view[: self.size])
        copied[_MAGIC_AT] = MAGIC
        return RecordBatch(copied)


def walk_batches(window: FileWindow, position: int = 0) -> Iterator[DumpedBatch]:
    """Yield every whole batch from `position` to the window's end."""
    while (batch := batch_at(window, position)) is not None:
        yield batch
        position += batch.size


def batch_at(window: FileWindow, position: int) -> DumpedBatch | None:
    """Return the batch that begins at `position`, None if it is truncated."""
    if position >= window.end - PREFIX_SIZE:
        return None
    base_offset, length, magic = _PREFIX.unpack_from(window.view(position, PREFIX_SIZE))
    place = BatchLocation(position, base_offset)
    if length < SMALLEST_SIZE[0]:
        raise place.corrupt(
            "an impossible batch size",
            expected=f"at least {SMALLEST_SIZE[0]}",
            found=length,
        )
    size = LOG_OVERHEAD + length
    if size > window.end - position:
        return None
    needed = _MESSAGE_HEADERS[magic != 0] if magic < MAGIC else HEADER_SIZE
    view = window.view(position, max(size, needed))
    if len(view) < needed:
        raise place.corrupt("a truncated header", expected=needed, found=len(view))
    return DumpedBatch(position, size, magic, base_offset, view)


def batch_line(batch: DumpedBatch) -> tuple[bytes, bool]:
    """Return the line of a batch, and whether the batch is valid.

    An unknown codec truncates the line, which then has no newline, as in Kafka's tool.
    """
    opening = b"offset: %d" % batch.base_offset if batch.is_old else _v2_opening(batch)
    codec = batch.attributes & CODEC_BITS
    if codec not in _CODEC_NAMES:
        return opening, False
    is_valid = batch.is_valid()
    line = b"%s position: %d %s: %d size: %d magic: %d compresscodec: %s crc: %d isvalid: %s\n" % (
        opening,
        batch.position,
        LABELS[batch.timestamp_type],
        batch.max_timestamp,
        batch.size,
        batch.magic,
        _CODEC_NAMES[codec],
        batch.crc,
        _bool(is_valid),
    )
    return line, is_valid


def _v2_opening(batch: DumpedBatch) -> bytes:
    """Return the fields that only a v2 batch has."""
    base_offset, epoch, _, attributes, delta, base_timestamp, _, *rest = _V2.unpack_from(batch.view)
    producer_id, producer_epoch, base_sequence, count = rest
    horizon = b"OptionalLong[%d]" % base_timestamp if attributes & HORIZON_BIT else _NO_HORIZON
    return (
        b"baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d"
        b" producerEpoch: %d partitionLeaderEpoch: %d isTransactional: %s isControl: %s"
        b" deleteHorizonMs: %s"
    ) % (
        base_offset,
        wrap_int64(base_offset + delta),
        count,
        base_sequence,
        -1 if base_sequence == -1 else java_increment(base_sequence, delta),
        producer_id,
        producer_epoch,
        epoch,
        _bool(bool(attributes & TRANSACTIONAL_BIT)),
        _bool(bool(attributes & CONTROL_BIT)),
        horizon,
    )


_NO_HORIZON: Final = b"OptionalLong.empty"


def _bool(value: bool) -> bytes:  # noqa: FBT001  # the value to print
    return b"true" if value else b"false"


def batch_ranges(window: FileWindow) -> Iterator[memoryview]:
    """Yield the file in ranges of whole batches, each at most a window if possible."""
    position = 0
    while True:
        view = window.view(position, WINDOW_BYTES)
        end = _whole_batches(view)
        if end == 0:
            batch = batch_at(window, position)
            if batch is None:
                return
            end = batch.size
            view = window.view(position, end)
        yield view[:end]
        position += end


def _whole_batches(view: memoryview) -> int:
    """Return the end of the last whole batch in the view."""
    at = 0
    while len(view) - at >= PREFIX_SIZE:
        length = _PREFIX.unpack_from(view, at)[1]
        if length < SMALLEST_SIZE[0] or length + LOG_OVERHEAD > len(view) - at:
            break
        at += LOG_OVERHEAD + length
    return at
