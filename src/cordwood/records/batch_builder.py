"""Builder of v2 batches (Kafka: `MemoryRecordsBuilder`).

Records are gathered uncompressed; `build` compresses them and writes the header in front. The
layout is drawn in `record_batch` and `v2_record`.

The base timestamp is the first record's, or the delete horizon if there is one. A batch that loses
records to compaction keeps its base offset, its last offset and its sequences, so that the
producer's next batch still follows. `build(last_offset=...)` writes such a batch, `filtered` writes
one from copied records, and `empty_batch` one without records.
"""

from collections.abc import Sequence
from struct import Struct, error
from typing import Final, NamedTuple, Self

from cordwood.core.binary import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, Buffer, crc32c
from cordwood.core.errors import InvalidRecordError, SettingError
from cordwood.records.compression import Codec, compress
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.records.record import NO_HEADERS, Header, Record
from cordwood.records.record_batch import (
    CONTROL_BIT,
    CRC_START,
    DELETE_HORIZON_BIT,
    HEADER_SIZE,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    TRANSACTIONAL_BIT,
    RecordBatch,
)
from cordwood.records.v2_record import append_v2_record, wrap_int64

LARGEST_BATCH: Final = INT32_MAX

_HEADER: Final = Struct(">qiibIhiqqqhii")
_CRC: Final = Struct(">I")


class BatchFields(NamedTuple):
    """Header fields that do not follow from the records; -1 and None mean unset.

    With `log_append_time_ms` the batch is of type LogAppendTime. `level` is the codec's compression
    level.
    """

    base_offset: int = 0
    partition_leader_epoch: int = -1
    codec: Codec = Codec.NONE
    level: int | None = None
    log_append_time_ms: int | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    is_control: bool = False
    delete_horizon_ms: int | None = None

    @classmethod
    def of(cls, batch: RecordBatch) -> Self:
        """Return the fields for a rewrite of the batch with fewer records."""
        is_stamped = batch.attributes & LOG_APPEND_TIME_BIT
        return cls(
            base_offset=batch.base_offset,
            partition_leader_epoch=batch.partition_leader_epoch,
            codec=batch.codec,
            log_append_time_ms=batch.max_timestamp if is_stamped else None,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            is_transactional=batch.is_transactional,
            is_control=batch.is_control,
            delete_horizon_ms=batch.delete_horizon_ms,
        )

    @property
    def attributes(self) -> int:
        """Return the attribute bits of these fields."""
        return (
            self.codec
            | (LOG_APPEND_TIME_BIT if self.log_append_time_ms is not None else 0)
            | (TRANSACTIONAL_BIT if self.is_transactional else 0)
            | (CONTROL_BIT if self.is_control else 0)
            | (DELETE_HORIZON_BIT if self.delete_horizon_ms is not None else 0)
        )

    def ensure_consistent(self) -> None:
        """Raise InvalidRecordError for producer fields that a broker rejects, or that the header
        cannot hold.
        """
        self.ensure_in_range()
        if self.is_transactional and self.producer_id < 0:
            raise InvalidRecordError("a transactional batch needs a producer id")
        if self.producer_id >= 0 and self.producer_epoch < 0:
            raise InvalidRecordError("a producer id needs a producer epoch")
        if self.producer_id >= 0 and self.base_sequence < 0 and not self.is_control:
            raise InvalidRecordError("a producer id needs a base sequence")

    def ensure_in_range(self) -> None:
        """Raise an error for an unknown codec, or for a number outside the range of its field."""
        if not isinstance(self.codec, Codec):
            raise SettingError(
                f"{self.codec!r} is not a codec",
                key="codec",
                remedy="use Codec.from_name, with one of "
                + ", ".join(one.kafka_name for one in Codec),
            )
        times = self.log_append_time_ms or 0, self.delete_horizon_ms or 0
        producer = self.producer_id, self.producer_epoch, self.base_sequence
        try:
            _NUMBERS.pack(self.base_offset, self.partition_leader_epoch, *producer, *times)
        except error:
            self._raise_out_of_range()

    def _raise_out_of_range(self) -> None:
        """Raise an error for the number that does not fit its field."""
        for name, (lowest, highest) in _RANGES.items():
            number: int | None = getattr(self, name)
            if number is not None and not lowest <= number <= highest:
                raise InvalidRecordError(
                    f"a {name} that does not fit its field",
                    base_offset=self.base_offset,
                    expected=f"{lowest} to {highest}",
                    found=number,
                )


#: The numbers of `_RANGES`, the times last.
_NUMBERS: Final = Struct(">qiqhiqq")
_INT32: Final = (INT32_MIN, INT32_MAX)
_INT64: Final = (INT64_MIN, INT64_MAX)
_RANGES: Final = {
    "base_offset": (INT64_MIN, INT64_MAX),
    "partition_leader_epoch": _INT32,
    "log_append_time_ms": _INT64,
    "producer_id": _INT64,
    "producer_epoch": (-(1 << 15), (1 << 15) - 1),
    "base_sequence": _INT32,
    "delete_horizon_ms": _INT64,
}

NO_FIELDS: Final = BatchFields()


class EncodedRecords(NamedTuple):
    """Uncompressed records of a batch: offsets count from 0, times from the first record's."""

    raw: bytes
    record_count: int
    base_timestamp: int
    max_timestamp: int


class BatchBuilder:
    """A builder that takes records in offset order and builds one batch of them."""

    __slots__ = ("_base_timestamp", "_raw", "count", "fields", "last_offset", "max_timestamp")

    def __init__(self, fields: BatchFields = NO_FIELDS) -> None:
        if fields is not NO_FIELDS:
            fields.ensure_consistent()
        self.fields = fields
        self.count = 0
        self.last_offset = fields.base_offset - 1
        self.max_timestamp = -1
        self._base_timestamp = fields.delete_horizon_ms
        self._raw = bytearray()

    @classmethod
    def of_encoded(cls, records: EncodedRecords, fields: BatchFields = NO_FIELDS) -> Self:
        """Return a builder that already holds these records."""
        builder = cls(fields)
        builder.count = records.record_count
        builder.last_offset = fields.base_offset + records.record_count - 1
        builder.max_timestamp = records.max_timestamp
        builder._base_timestamp = records.base_timestamp
        builder._raw = bytearray(records.raw)
        return builder

    @property
    def uncompressed_size(self) -> int:
        """Return the size of the batch without compression."""
        return HEADER_SIZE + len(self._raw)

    def append(
        self,
        key: Buffer | None,
        value: Buffer | None,
        *,
        timestamp: int = -1,
        headers: Sequence[Header] = NO_HEADERS,
        offset: int | None = None,
    ) -> int:
        """Add a record and return its offset: the next one, unless a later `offset` is given."""
        if offset is None:
            offset = self.last_offset + 1
        base_timestamp = timestamp if self._base_timestamp is None else self._base_timestamp
        self._ensure_follows(offset, timestamp)
        append_v2_record(
            self._raw,
            timestamp_delta=wrap_int64(timestamp - base_timestamp),
            offset_delta=offset - self.fields.base_offset,
            key=key,
            value=value,
            headers=headers,
        )
        self._base_timestamp = base_timestamp
        self.count += 1
        self.last_offset = offset
        self.max_timestamp = max(self.max_timestamp, timestamp)
        return offset

    def append_record(self, record: Record) -> int:
        """Add a record of another batch at its own offset."""
        return self.append(
            record.key,
            record.value,
            timestamp=record.timestamp,
            headers=record.headers,
            offset=record.offset,
        )

    def build(self, *, last_offset: int | None = None) -> bytearray:
        """Return the batch; a `last_offset` after the last record marks dropped records."""
        fields = self.fields
        last_offset = self.last_offset if last_offset is None else last_offset
        if self.count == 0 or self._base_timestamp is None:
            raise InvalidRecordError("a batch without records", base_offset=fields.base_offset)
        if not self.last_offset <= last_offset <= fields.base_offset + INT32_MAX:
            raise InvalidRecordError(
                "a last offset that does not fit the batch",
                base_offset=fields.base_offset,
                expected=f"{self.last_offset} to {fields.base_offset + INT32_MAX}",
                found=last_offset,
            )
        stamped = fields.log_append_time_ms
        out = bytearray(HEADER_SIZE)
        if fields.codec is Codec.NONE:
            out += self._raw
        else:
            out += compress(fields.codec, self._raw, level=fields.level)
        _write_header(
            out,
            fields,
            last_offset=last_offset,
            timestamps=(self._base_timestamp, self.max_timestamp if stamped is None else stamped),
            count=self.count,
        )
        return out

    def split(self, count: int) -> tuple["BatchBuilder", "BatchBuilder"]:
        """Return builders of the first `count` records and of the others, with the same fields."""
        assert self._base_timestamp is not None, "only a builder with records is split"
        encoded = EncodedRecords(
            bytes(self._raw), self.count, self._base_timestamp, self.max_timestamp
        )
        parts = BatchBuilder(self.fields), BatchBuilder(self.fields)
        for index, record in enumerate(
            RecordBatch(BatchBuilder.of_encoded(encoded).build()).records()
        ):
            parts[index >= count].append(
                record.key, record.value, timestamp=record.timestamp, headers=record.headers
            )
        return parts

    def _ensure_follows(self, offset: int, timestamp: int) -> None:
        """Raise InvalidRecordError for a record that cannot follow the previous ones."""
        base_offset = self.fields.base_offset
        if (
            type(timestamp) is int
            and -1 <= timestamp <= INT64_MAX
            and 0 <= self.last_offset < offset <= base_offset + INT32_MAX <= INT64_MAX
        ):
            return  # as almost all records: each check below takes as long
        lowest, highest = max(0, self.last_offset + 1), min(INT64_MAX, base_offset + INT32_MAX)
        if not lowest <= offset <= highest:
            raise InvalidRecordError(
                "an offset that does not fit the batch",
                base_offset=base_offset,
                expected=f"{lowest} to {highest}",
                found=offset,
            )
        if not isinstance(timestamp, int):
            raise TypeError(
                f"a timestamp is whole milliseconds since 1970, not {type(timestamp).__name__}"
            )
        if not -1 <= timestamp <= INT64_MAX:
            raise InvalidRecordError(
                "a timestamp that cannot be right",
                base_offset=base_offset,
                expected=f"-1 to {INT64_MAX}",
                found=timestamp,
            )


def empty_batch(fields: BatchFields, *, last_offset: int, max_timestamp: int) -> bytearray:
    """Return a header of 61 bytes that covers the offsets of removed records."""
    fields.ensure_in_range()
    highest = min(INT64_MAX, fields.base_offset + INT32_MAX)
    if not 0 <= fields.base_offset <= last_offset <= highest:
        raise InvalidRecordError(
            "a last offset that does not fit the batch",
            base_offset=fields.base_offset,
            expected=f"{max(fields.base_offset, 0)} to {highest}",
            found=last_offset,
        )
    if not INT64_MIN <= max_timestamp <= INT64_MAX:
        raise InvalidRecordError(
            "a timestamp that cannot be right",
            base_offset=fields.base_offset,
            expected=f"{INT64_MIN} to {INT64_MAX}",
            found=max_timestamp,
        )
    stamped = max_timestamp if fields.log_append_time_ms is not None else None
    out = bytearray(HEADER_SIZE)
    _write_header(
        out,
        fields._replace(codec=Codec.NONE, delete_horizon_ms=None, log_append_time_ms=stamped),
        last_offset=last_offset,
        timestamps=(-1, max_timestamp),
        count=0,
    )
    return out


def emptied(batch: RecordBatch) -> bytearray:
    """Return the empty batch that the cleaner keeps to preserve the producer's state."""
    return empty_batch(
        BatchFields.of(batch), last_offset=batch.last_offset, max_timestamp=batch.max_timestamp
    )


def recoded(batch: RecordBatch, codec: Codec, *, level: int | None = None) -> bytearray:
    """Return a batch with the same records under another codec or level."""
    fields = BatchFields.of(batch)._replace(codec=codec, level=level)
    raw = batch.uncompressed()
    out = bytearray(HEADER_SIZE)
    out += raw if codec is Codec.NONE else compress(codec, raw, level=level)
    _write_header(
        out,
        fields,
        last_offset=batch.last_offset,
        timestamps=(batch.base_timestamp, batch.max_timestamp),
        count=batch.count,
    )
    return out


def filtered(
    batch: RecordBatch,
    raw: Buffer,
    *,
    count: int,
    max_timestamp: int,
    new_horizon_ms: int | None = None,
) -> bytearray:
    """Return a batch with fewer records; `raw` holds them uncompressed, with all their deltas.

    The base timestamp stays, unless there is a new delete horizon: then time deltas are relative to
    that.
    """
    fields = BatchFields.of(batch)
    base_timestamp = batch.base_timestamp
    if new_horizon_ms is not None:
        fields = fields._replace(delete_horizon_ms=new_horizon_ms)
        base_timestamp = new_horizon_ms
    out = bytearray(HEADER_SIZE)
    out += raw if fields.codec is Codec.NONE else compress(fields.codec, raw)
    _write_header(
        out,
        fields,
        last_offset=batch.last_offset,
        timestamps=(base_timestamp, max_timestamp),
        count=count,
    )
    return out


def _write_header(
    out: bytearray,
    fields: BatchFields,
    *,
    last_offset: int,
    timestamps: tuple[int, int],
    count: int,
) -> None:
    """Fill the first 61 bytes, the checksum last."""
    if len(out) > LARGEST_BATCH:
        raise InvalidRecordError(
            "a batch too large for its length",
            base_offset=fields.base_offset,
            expected=f"at most {LARGEST_BATCH} bytes",
            found=len(out),
        )
    _HEADER.pack_into(
        out,
        0,
        fields.base_offset,
        len(out) - LOG_OVERHEAD,
        fields.partition_leader_epoch,
        MAGIC,
        0,
        fields.attributes,
        last_offset - fields.base_offset,
        *timestamps,
        fields.producer_id,
        fields.producer_epoch,
        fields.base_sequence,
        count,
    )
    with memoryview(out) as view:
        crc = crc32c(view[CRC_START:])
    _CRC.pack_into(out, 17, crc)
