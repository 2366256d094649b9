"""Conversion between the formats, with Kafka's losses on the way down (Kafka:
`RecordsUtil.downConvert`).

    up    v0, v1 -> v2      lossless; fields that v0 lacks become -1. Exception: v0 messages in a v1
                            wrapper with LogAppendTime get its time, since a v2 batch has one
                            timestamp type for all its records
    down  v2 -> v1          headers, producer fields, leader epochs and gaps at a batch's ends are
                            lost; control batches are omitted
    down  v2, v1 -> v0      timestamps too

Kafka's readers accept records that its builders reject, and so do ours. Converting a batch with
such a record raises `InvalidRecordError`, since no other time or offset would be right:

- a timestamp below -1, in both directions, even into v0;
- offsets in a wrapper that repeat or go back, except from a producer, whose records are renumbered.

Down-conversion for a fetch serves old consumers: unsupported fields are omitted, and only zstd,
which they cannot read, is rejected. Down-conversion for an append would lose fields that a producer
relies on, so `ensure_can_be_written` raises an error.
"""

from collections.abc import Iterable, Sequence

from cordwood.core.errors import (
    InvalidRecordError,
    UnsupportedCompressionTypeError,
    UnsupportedForMessageFormatError,
)
from cordwood.records.batch_builder import BatchBuilder, BatchFields, empty_batch
from cordwood.records.batch_stream import AnyBatch
from cordwood.records.compression import DEFAULT_LIMIT, Codec
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.records.record import Record, TimestampType


def up_convert(batch: LegacyBatch, *, limit: int = DEFAULT_LIMIT) -> bytearray:
    """Return one v2 batch with the records, offsets, codec and timestamp type of an old one.

    Raises InvalidRecordError for records that no builder writes; see the module.
    """
    return up_convert_kept(batch, list(batch.records(limit=limit)))


def up_convert_kept(
    batch: LegacyBatch, records: Sequence[Record], *, delete_horizon_ms: int | None = None
) -> bytearray:
    """Return the same with some of the records; at least one is required."""
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


def up_convert_produced(
    batches: Iterable[LegacyBatch], fields: BatchFields, *, limit: int = DEFAULT_LIMIT
) -> bytearray:
    """Return one v2 batch with all records of an old producer, renumbered."""
    builder = BatchBuilder(fields)
    for batch in batches:
        for record in batch.records(limit=limit):
            builder.append(record.key, record.value, timestamp=record.timestamp)
    return builder.build()


def down_convert(
    batches: Iterable[AnyBatch],
    magic: LegacyMagic,
    *,
    first_offset: int = 0,
    limit: int = DEFAULT_LIMIT,
) -> bytearray:
    """Return the part of `batches` that a consumer of formats up to `magic` can read.

    A batch of an old enough format is copied. A newer one keeps its codec. It is rewritten without
    the records below `first_offset`, unless it is compressed: then the consumer skips them itself.
    Raises InvalidRecordError for records that no builder writes; see the module.
    """
    out = bytearray()
    for batch in batches:
        if batch.is_control:
            continue
        if batch.codec is Codec.ZSTD:
            raise UnsupportedCompressionTypeError(
                f"the batch at offset {batch.place.base_offset} is zstd, "
                f"which magic {magic} cannot say"
            )
        if batch.magic <= magic:
            out += batch.data
        else:
            lowest = first_offset if batch.codec is Codec.NONE else 0
            kept = [record for record in batch.records(limit=limit) if record.offset >= lowest]
            out += _write_down(batch, magic, kept)
    return out


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


def _write_down(batch: AnyBatch, magic: LegacyMagic, records: list[Record]) -> bytearray:
    """Write the remaining fields of a batch in an older format."""
    if not records:
        return bytearray()
    builder = LegacyBuilder(
        magic,
        base_offset=records[0].offset,
        codec=batch.codec,
        log_append_time_ms=log_append_time_of(batch),
    )
    for record in records:
        builder.append(record.key, record.value, timestamp=record.timestamp, offset=record.offset)
    return builder.build()


def log_append_time_of(batch: AnyBatch) -> int | None:
    """Return the log append time of a batch, None with CreateTime."""
    if batch.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return batch.max_timestamp
    return None
