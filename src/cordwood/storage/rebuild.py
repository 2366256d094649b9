"""Batches written anew because they cannot be stored as they came: another codec, another format.

    v2 -> v2            the records stay as they are, byte for byte; only the codec around them and
                        the header before them are new
    v0, v1 -> v2        every record is written anew, all of them in one batch
    anything -> v0, v1  likewise: a message a record, or one wrapper

A v2 batch is also written record by record where its records' bytes would mean something else in
the new one: offsets with gaps, or a base timestamp that is not the producer's.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final, Literal, TypeAlias

from cordwood.records.batch import HEADER_SIZE, MAGIC, RecordBatch
from cordwood.records.builder import BatchBuilder, BatchFields
from cordwood.records.compression import DEFAULT_LIMIT, compress
from cordwood.records.inspect import BatchFacts
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.records.message import LOG_OVERHEAD
from cordwood.records.record import TimestampType
from cordwood.records.stream import AnyBatch

Magic: TypeAlias = Literal[0, 1, 2]

#: Base offset, length and leader epoch; attributes; max timestamp; the checksum.
_PLACE: Final = Struct(">qii")
_ATTRIBUTES: Final = Struct(">h")
_MAX_TIMESTAMP: Final = Struct(">q")
_CRC: Final = Struct(">I")


def rebuild(
    batches: Sequence[AnyBatch], facts: Sequence[BatchFacts], *, fields: BatchFields, magic: Magic
) -> bytearray:
    """Return the records of all batches, numbered from `fields.base_offset` on."""
    first = batches[0]
    if magic != MAGIC:
        return _as_messages(batches, fields, magic)
    if isinstance(first, RecordBatch) and _keeps_meaning(first, facts[0]):
        return _around_same_records(first, fields, facts[0].max_timestamp)
    builder = BatchBuilder(fields)
    for batch in batches:
        for record in batch.records():
            builder.append(
                record.key, record.value, timestamp=record.timestamp, headers=record.headers
            )
    return builder.build()


def _keeps_meaning(batch: RecordBatch, facts: BatchFacts) -> bool:
    """Whether the deltas of a batch's records are right in a batch of other offsets, too."""
    is_own_time = batch.timestamp_type is TimestampType.CREATE_TIME
    return facts.is_sequential and is_own_time and not batch.has_delete_horizon


def _around_same_records(batch: RecordBatch, fields: BatchFields, max_timestamp: int) -> bytearray:
    """Compress the records of a batch with another codec."""
    stamped = fields.log_append_time_ms
    records = batch.place.decompress(batch.codec, batch.payload, magic=MAGIC, limit=DEFAULT_LIMIT)
    out = bytearray(batch.data[:HEADER_SIZE])
    out += compress(fields.codec, records, level=fields.level)
    _PLACE.pack_into(
        out, 0, fields.base_offset, len(out) - LOG_OVERHEAD, fields.partition_leader_epoch
    )
    _ATTRIBUTES.pack_into(out, 21, fields.attributes)
    _MAX_TIMESTAMP.pack_into(out, 35, max_timestamp if stamped is None else stamped)
    _CRC.pack_into(out, 17, RecordBatch(out).computed_crc())
    return out


def _as_messages(batches: Sequence[AnyBatch], fields: BatchFields, magic: LegacyMagic) -> bytearray:
    """Write what the old formats can say of the records."""
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
