"""What becomes of the batches of a log that changes its message format, its codec, or both.

    as it is to be already                as it is; so are markers, and batches without records
    v2, another codec                     its records as they lie, compressed anew
    a wrapper of v0 or v1                 one batch
    messages of v0 or v1                  as many in one batch as make 16 KiB
    v2 into v1                            one batch; refused where v1 cannot keep what it says

Offsets, times and keys stay what they were.
"""

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from cordwood.core.binary import Buffer
from cordwood.core.errors import SettingError, UnsupportedForMessageFormatError
from cordwood.records.batch import RecordBatch
from cordwood.records.builder import BatchBuilder, BatchFields, recoded
from cordwood.records.compression import Codec, compress
from cordwood.records.convert import ensure_can_be_written, log_append_time_of
from cordwood.records.legacy import LegacyBatch
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.records.record import Record, TimestampType
from cordwood.records.stream import AnyBatch

#: The formats that a log can be converted to.
WrittenMagic: TypeAlias = Literal[1, 2]

_MAGICS: Final[dict[str, WrittenMagic]] = {"v1": 1, "v2": 2}

GATHERED_BYTES: Final = 16 << 10


class Wanted(NamedTuple):
    """What batches are to be. Without a codec each keeps its own; `level` is the codec's."""

    magic: WrittenMagic = 2
    codec: Codec | None = None
    level: int | None = None

    @classmethod
    def named(
        cls, message_format: str = "v2", codec: str | None = None, *, level: int | None = None
    ) -> "Wanted":
        """Return what these names say; SettingError where one says nothing, or cannot be."""
        magic = _MAGICS.get(message_format)
        if magic is None:
            raise SettingError(
                f"there is no format {message_format!r} to write",
                key="format",
                remedy=f"choose from {', '.join(_MAGICS)}",
            )
        if codec is None:
            if level is not None:
                raise SettingError(
                    "a level is a codec's", key="level", remedy="say which codec it is for"
                )
            return cls(magic)
        known = Codec.from_name(codec)
        compress(known, b"", level=level, magic=magic)  # which refuses what cannot be
        return cls(magic, known, level)


class BatchConverter:
    """Takes the batches of one segment in order, and yields what is to be written in their place.

    What it gathers comes out with a later batch, or at the end.
    """

    __slots__ = ("_gathered", "_gathered_bytes", "_wanted")

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._gathered: list[Record] = []
        self._gathered_bytes = 0

    def take(self, batch: AnyBatch) -> Iterator[Buffer]:
        """Yield what takes the place of batches so far; CorruptMessageError if one is damaged."""
        batch.ensure_valid()
        if self._is_as_wanted(batch):
            yield from self.end()
            yield batch.data
        elif isinstance(batch, LegacyBatch) and _can_be_gathered(batch):
            self._gathered += batch.records()
            self._gathered_bytes += batch.size
            if self._gathered_bytes >= GATHERED_BYTES:
                yield from self.end()
        else:
            yield from self.end()
            yield self._converted(batch)

    def end(self) -> Iterator[Buffer]:
        """Yield what has been gathered."""
        if self._gathered:
            yield self._written(self._gathered, codec=Codec.NONE, log_append_time_ms=None)
            self._gathered = []
            self._gathered_bytes = 0

    def _is_as_wanted(self, batch: AnyBatch) -> bool:
        magic, codec, level = self._wanted
        if magic != batch.magic:
            return False
        if isinstance(batch, RecordBatch) and (batch.is_control or not batch.count):
            return True
        return codec is None or (codec is batch.codec and level is None)

    def _converted(self, batch: AnyBatch) -> Buffer:
        magic, codec, level = self._wanted
        if isinstance(batch, RecordBatch) and magic == 2:
            return recoded(batch, batch.codec if codec is None else codec, level=level)
        records = list(batch.records())
        if isinstance(batch, RecordBatch):
            _ensure_v1_keeps(batch, records)
        stamp = log_append_time_of(batch)
        return self._written(records, codec=batch.codec, log_append_time_ms=stamp)

    def _written(
        self, records: list[Record], *, codec: Codec, log_append_time_ms: int | None
    ) -> bytearray:
        """Return a batch of records; the codec is the one they had, if no other is wanted."""
        magic, wanted, level = self._wanted
        codec = codec if wanted is None else wanted
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
    """Whether a message can share a batch: one that a broker has dated has a time of its own."""
    return not batch.is_wrapper and batch.timestamp_type is not TimestampType.LOG_APPEND_TIME


def _ensure_v1_keeps(batch: RecordBatch, records: list[Record]) -> None:
    """Refuse what v1 cannot say."""
    ensure_can_be_written(batch, 1)
    for record in records:
        if record.headers:
            raise UnsupportedForMessageFormatError(
                f"magic 1 keeps no headers, the record at offset {record.offset} has some"
            )
