"""Conversion between the formats, with Kafka's rules for what is lost on the way down.

    up    v0, v1 -> v2      nothing is lost; what v0 never had stays -1, but for v0 messages in a v1
                            wrapper that the log has dated: a v2 batch has one type of timestamp
                            for all its records, so they get that time too
    down  v2 -> v1          headers, producer fields, leader epochs and gaps at a batch's ends are
                            lost; control batches are left out
    down  v2, v1 -> v0      timestamps too

Kafka's readers take records that its builders refuse to write, and so do ours; converting a batch
that holds one raises `InvalidRecordError`, since no other time or place would be true:

- a timestamp below -1, either way, even into v0;
- offsets in a wrapper that repeat or go back, except from a producer, whose records are numbered
  afresh.

Reading down is for old consumers: what else they cannot be told is left out, and zstd alone, which
they could not read, is refused. Writing down would lose what a producer relies on, so
`ensure_can_be_written` refuses.
"""

from collections.abc import Iterable, Sequence

from cordwood.core.errors import (
    InvalidRecordError,
    UnsupportedCompressionTypeError,
    UnsupportedForMessageFormatError,
)
from cordwood.records.builder import BatchBuilder, BatchFields, empty_batch
from cordwood.records.compression import DEFAULT_LIMIT, Codec
from cordwood.records.legacy import LegacyBatch
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.records.record import Record, TimestampType
from cordwood.records.stream import AnyBatch


def up_convert(batch: LegacyBatch, *, limit: int = DEFAULT_LIMIT) -> bytearray:
    """Return one v2 batch with the records, offsets, codec and timestamp type of an old one.

    Records that no builder writes are refused; see the module.
    """
    return up_convert_kept(batch, list(batch.records(limit=limit)))


def up_convert_kept(
    batch: LegacyBatch, records: Sequence[Record], *, delete_horizon_ms: int | None = None
) -> bytearray:
    """Return the same with some of the records, of which there is at least one."""
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
    """Return one v2 batch with all records that an old producer sent, numbered afresh."""
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
    """Return what a consumer that knows formats up to `magic` can read of `batches`.

    A batch that is old enough is copied as it is. A newer one keeps its codec; it is written again
    without the records below `first_offset` unless it is compressed, in which case the consumer
    skips them as it always has. Records that no builder writes are refused; see the module.
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
    """Refuse to write into a log of an older format what that format cannot keep."""
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
    """Write what is kept of a batch in an older format."""
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
    """Return the time that a batch gives to all of its records, if it does."""
    if batch.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return batch.max_timestamp
    return None
