"""Rebuild of batches for another codec or format (Kafka: `LogValidator`).

    v2 -> v2            the bytes of the records stay; only the compression and the header are new
    v0, v1 -> v2        every record is written again, all of them in one batch
    any -> v0, v1       every record is written again, as a message of its own or in one wrapper

The records of a v2 batch are also written again if their bytes would have another meaning in the
new batch: offsets with gaps, or a base timestamp that is not the producer's.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final, Literal, TypeAlias

from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import AnyBatch
from cordwood.records.compression import DEFAULT_LIMIT, compress
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.records.record import TimestampType
from cordwood.records.record_batch import HEADER_SIZE, MAGIC, RecordBatch
from cordwood.records.record_checks import BatchFacts

Magic: TypeAlias = Literal[0, 1, 2]

#: Base offset, length and leader epoch; attributes; max timestamp; the checksum.
_PLACE: Final = Struct(">qii")
_ATTRIBUTES: Final = Struct(">h")
_MAX_TIMESTAMP: Final = Struct(">q")
_CRC: Final = Struct(">I")


def rebuild(
    batches: Sequence[AnyBatch], facts: Sequence[BatchFacts], *, fields: BatchFields, magic: Magic
) -> bytearray:
    """Return the records of all batches, with offsets from `fields.base_offset` on."""
    first = batches[0]
    if magic != MAGIC:
        return _as_messages(batches, fields, magic)
    if isinstance(first, RecordBatch) and _can_keep_records(first, facts[0]):
        return _recompress(first, fields, facts[0].max_timestamp)
    builder = BatchBuilder(fields)
    for batch in batches:
        for record in batch.records():
            builder.append(
                record.key, record.value, timestamp=record.timestamp, headers=record.headers
            )
    return builder.build()


def _can_keep_records(batch: RecordBatch, facts: BatchFacts) -> bool:
    """Return whether the deltas of the records are right with another base offset, too."""
    is_own_time = batch.timestamp_type is TimestampType.CREATE_TIME
    return facts.is_sequential and is_own_time and not batch.has_delete_horizon


def _recompress(batch: RecordBatch, fields: BatchFields, max_timestamp: int) -> bytearray:
    """Return a batch with the same records, compressed by another codec."""
    log_append_time_ms = fields.log_append_time_ms
    records = batch.place.decompress(batch.codec, batch.payload, magic=MAGIC, limit=DEFAULT_LIMIT)
    out = bytearray(batch.data[:HEADER_SIZE])
    out += compress(fields.codec, records, level=fields.level)
    _PLACE.pack_into(
        out, 0, fields.base_offset, len(out) - LOG_OVERHEAD, fields.partition_leader_epoch
    )
    _ATTRIBUTES.pack_into(out, 21, fields.attributes)
    _MAX_TIMESTAMP.pack_into(
        out, 35, max_timestamp if log_append_time_ms is None else log_append_time_ms
    )
    _CRC.pack_into(out, 17, RecordBatch(out).computed_crc())
    return out


def _as_messages(batches: Sequence[AnyBatch], fields: BatchFields, magic: LegacyMagic) -> bytearray:
    """Return messages with the fields of the records that the old formats have."""
    builder = LegacyBuilder(
        magic,
        base_offset=fields.base_offset,
        codec=fields.codec,
        level=fields.level,
        log_append_time_ms=fields.log_append_time_ms,
    )
    for batch in batches:
        for record in batch.records():
            builder.append(record.key, record.value, timestamp=record.timestamp)
    return builder.build()
