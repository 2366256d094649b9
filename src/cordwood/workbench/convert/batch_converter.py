"""Conversion of batches to another message format, compression type, or both.

    already as requested                  unchanged; so are markers and batches without records
    a batch without records to v1         left out; its offsets stay without records
    v2, another compression type          the same record bytes, compressed again
    a wrapper of v0 or v1                 one batch
    messages of v0 or v1                  gathered into batches of 16 KiB
    v2 to v1                              one batch; an error if v1 cannot represent the records

Offsets, timestamps, keys and values do not change.
"""

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from cordwood.core.binary import Buffer
from cordwood.core.errors import (
    InvalidRecordError,
    SettingError,
    UnsupportedCompressionTypeError,
    UnsupportedForMessageFormatError,
)
from cordwood.records.batch_builder import BatchBuilder, BatchFields, recoded
from cordwood.records.batch_stream import AnyBatch
from cordwood.records.compression import Codec, compress
from cordwood.records.format_conversion import ensure_can_be_written, log_append_time_of
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.records.record import Record, TimestampType
from cordwood.records.record_batch import RecordBatch

#: The formats that a log can be converted to.
WrittenMagic: TypeAlias = Literal[1, 2]

_MAGICS: Final[dict[str, WrittenMagic]] = {"v1": 1, "v2": 2}

GATHERED_BYTES: Final = 16 << 10


class ConvertOptions(NamedTuple):
    """The requested format; without a codec, each batch keeps its own. `level` is the codec's."""

    magic: WrittenMagic = 2
    codec: Codec | None = None
    level: int | None = None

    @classmethod
    def from_names(
        cls, message_format: str = "v2", codec: str | None = None, *, level: int | None = None
    ) -> "ConvertOptions":
        """Return the options for these names; SettingError if one is unknown or invalid."""
        magic = _MAGICS.get(message_format)
        if magic is None:
            raise SettingError(
                f"format: cannot write {message_format!r}",
                key="format",
                remedy=f"choose from {', '.join(_MAGICS)}",
            )
        if codec is None:
            if level is not None:
                raise SettingError(
                    "level: requires a codec", key="level", remedy="give a codec too"
                )
            return cls(magic)
        known = Codec.from_name(codec)
        if magic == 1 and known is Codec.ZSTD:
            raise SettingError(
                "codec: message format v1 has no zstd",
                key="codec",
                remedy="choose another codec, or format v2",
            )
        compress(known, b"", level=level, magic=magic)  # raises if the combination is invalid
        return cls(magic, known, level)


class BatchConverter:
    """Converter of the batches of one segment, in order.

    Gathered messages are returned with a later batch, or at the end. `left_out` is the end offset
    of the last batch if that was left out, because it has no records.
    """

    __slots__ = ("_gathered", "_gathered_bytes", "_options", "left_out")

    def __init__(self, options: ConvertOptions) -> None:
        self._options = options
        self._gathered: list[Record] = []
        self._gathered_bytes = 0
        self.left_out: int | None = None

    def convert(self, batch: AnyBatch) -> Iterator[Buffer]:
        """Yield converted batches; CorruptMessageError if the batch is damaged."""
        batch.ensure_valid()
        self.left_out = None
        if self._is_as_requested(batch):
            yield from self.end()
            yield batch.data
        elif isinstance(batch, LegacyBatch) and _can_be_gathered(batch):
            self._gathered += batch.records()
            self._gathered_bytes += batch.size
            if self._gathered_bytes >= GATHERED_BYTES:
                yield from self.end()
        elif isinstance(batch, RecordBatch) and not batch.count and self._options.magic == 1:
            _ensure_v1(batch)
            self.left_out = batch.next_offset
        else:
            yield from self.end()
            yield self._convert_one(batch)

    def end(self) -> Iterator[Buffer]:
        """Yield the gathered messages as a batch."""
        if self._gathered:
            yield self._build(self._gathered, codec=Codec.NONE, log_append_time_ms=None)
            self._gathered = []
            self._gathered_bytes = 0

    def _is_as_requested(self, batch: AnyBatch) -> bool:
        magic, codec, level = self._options
        if magic != batch.magic:
            return False
        if isinstance(batch, RecordBatch) and (batch.is_control or not batch.count):
            return True
        return codec is None or (codec is batch.codec and level is None)

    def _convert_one(self, batch: AnyBatch) -> Buffer:
        magic, codec, level = self._options
        if isinstance(batch, RecordBatch) and magic == 2:
            return recoded(batch, batch.codec if codec is None else codec, level=level)
        records = list(batch.records())
        if isinstance(batch, RecordBatch):
            _ensure_fits_v1(batch, records)
        stamp = log_append_time_of(batch)
        return self._build(records, codec=batch.codec, log_append_time_ms=stamp)

    def _build(
        self, records: list[Record], *, codec: Codec, log_append_time_ms: int | None
    ) -> bytearray:
        """Return a batch of records; `codec` applies if the options contain none."""
        magic, requested, level = self._options
        codec = codec if requested is None else requested
        if magic == 2:
            fields = BatchFields(
                base_offset=records[0].offset,
                codec=codec,
                level=level,
                log_append_time_ms=log_append_time_ms,
            )
            builder = BatchBuilder(fields)
            for record in records:
                builder.append_record(record)
            return builder.build()
        old = LegacyBuilder(
            1,
            base_offset=records[0].offset,
            codec=codec,
            level=level,
            log_append_time_ms=log_append_time_ms,
        )
        for record in records:
            old.append(record.key, record.value, timestamp=record.timestamp, offset=record.offset)
        return old.build()


def _can_be_gathered(batch: LegacyBatch) -> bool:
    """Return whether a message can share a batch; one with a log append time cannot."""
    return not batch.is_wrapper and batch.timestamp_type is not TimestampType.LOG_APPEND_TIME


def _ensure_fits_v1(batch: RecordBatch, records: list[Record]) -> None:
    """Raise UnsupportedForMessageFormatError for records that v1 cannot represent."""
    _ensure_v1(batch)
    for record in records:
        if record.headers:
            raise _not_in_v1(f"it has no headers, and the record at offset {record.offset} has one")


def _ensure_v1(batch: RecordBatch) -> None:
    """Raise UnsupportedForMessageFormatError for a batch with fields that v1 does not have."""
    try:
        ensure_can_be_written(batch, 1)
    except (
        InvalidRecordError,
        UnsupportedCompressionTypeError,
        UnsupportedForMessageFormatError,
    ) as error:
        raise _not_in_v1(f"{error} (offset {batch.base_offset})") from error


def _not_in_v1(problem: str) -> UnsupportedForMessageFormatError:
    return UnsupportedForMessageFormatError(
        f"cannot be message format v1: {problem}; convert to v2"
    )
