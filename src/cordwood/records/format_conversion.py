"""Conversion of batches in the old formats to v2 (Kafka: `RecordsUtil`, `MemoryRecords.filterTo`).

The conversion is lossless; fields that v0 lacks become -1. One exception: v0 messages in a v1
wrapper with LogAppendTime get its time, since a v2 batch has one timestamp type for all its
records.

Kafka's readers accept records that its builders reject, and so do ours. Converting a batch with
such a record raises `InvalidRecordError`, since no other time or offset would be right:

- a timestamp below -1;
- offsets in a wrapper that repeat or go back.

There is no conversion down, as in Kafka 4. A log in an old format would lose fields that a producer
relies on, so `ensure_can_be_written` raises an error.
"""

from collections.abc import Sequence

from cordwood.core.errors import (
    InvalidRecordError,
    UnsupportedCompressionTypeError,
    UnsupportedForMessageFormatError,
)
from cordwood.records.batch_builder import BatchBuilder, BatchFields, empty_batch
from cordwood.records.batch_stream import AnyBatch
from cordwood.records.compression import Codec
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.record import Record, TimestampType


def up_convert(
    batch: LegacyBatch, records: Sequence[Record], *, delete_horizon_ms: int | None = None
) -> bytearray:
    """Return a v2 batch with these records of an old one, at least one.

    Offsets, codec and timestamp type stay. Raises InvalidRecordError for records that no builder
    writes; see the module.
    """
    fields = BatchFields(
        base_offset=records[0].offset,
        codec=batch.codec,
        log_append_time_ms=log_append_time_of(batch),
        delete_horizon_ms=delete_horizon_ms,
    )
    builder = BatchBuilder(fields)
    for record in records:
        builder.append_record(record)
    return builder.build()


def up_convert_emptied(batch: LegacyBatch, *, base_offset: int) -> bytearray:
    """Return a v2 batch without records for the offsets of an old one."""
    fields = BatchFields(base_offset=base_offset, log_append_time_ms=log_append_time_of(batch))
    return empty_batch(fields, last_offset=batch.last_offset, max_timestamp=batch.max_timestamp)


def ensure_can_be_written(batch: AnyBatch, magic: int) -> None:
    """Raise an error for a batch that a log of an older format cannot store without loss."""
    if magic >= 2:
        return
    if batch.is_transactional or batch.has_producer_id:
        raise UnsupportedForMessageFormatError(
            f"magic {magic} keeps no producer ids, the batch has {batch.producer_id}"
        )
    if batch.is_control:
        raise InvalidRecordError(f"magic {magic} has no control batches")
    if batch.codec is Codec.ZSTD:
        raise UnsupportedCompressionTypeError(f"zstd needs magic 2, not {magic}")


def log_append_time_of(batch: AnyBatch) -> int | None:
    """Return the log append time of a batch, None with CreateTime."""
    if batch.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return batch.max_timestamp
    return None
