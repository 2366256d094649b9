"""Our own readers and writers, speaking the same values as Kafka's in `oracle`."""

from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import AnyBatch, batches
from cordwood.records.compression import Codec
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.records.record import Record
from cordwood.records.record_batch import RecordBatch
from tests.interop.kafka_harness.spec import LOG_APPEND_TIME, SeenBatch, Spec, SpecRecord


def read_ours(data: bytes | bytearray | memoryview) -> list[SeenBatch]:
    """Return our reading of bytes, checksums verified, up to an incomplete batch."""
    return [_seen_batch(batch) for batch in batches(data)]


def write_ours(spec: Spec) -> bytes:
    """A batch that we wrote."""
    return bytes(_write_v2(spec) if spec.magic == 2 else _write_legacy(spec))


def _write_v2(spec: Spec) -> bytearray:
    is_stamped = spec.timestamp_type == LOG_APPEND_TIME
    fields = BatchFields(
        base_offset=spec.base_offset,
        partition_leader_epoch=spec.partition_leader_epoch,
        codec=Codec.from_name(spec.codec),
        level=spec.level,
        log_append_time_ms=spec.log_append_time if is_stamped else None,
        producer_id=spec.producer_id,
        producer_epoch=spec.producer_epoch,
        base_sequence=spec.base_sequence,
        is_transactional=spec.transactional,
        delete_horizon_ms=None if spec.delete_horizon_ms < 0 else spec.delete_horizon_ms,
    )
    builder = BatchBuilder(fields)
    for record in spec.records:
        builder.append(
            record.key,
            record.value,
            timestamp=record.timestamp,
            headers=record.headers,
            offset=record.offset,
        )
    return builder.build()


def _write_legacy(spec: Spec) -> bytearray:
    is_stamped = spec.timestamp_type == LOG_APPEND_TIME
    builder = LegacyBuilder(
        1 if spec.magic else 0,
        base_offset=spec.base_offset,
        codec=Codec.from_name(spec.codec),
        level=spec.level,
        log_append_time_ms=spec.log_append_time if is_stamped else None,
    )
    for record in spec.records:
        builder.append(record.key, record.value, timestamp=record.timestamp, offset=record.offset)
    return builder.build()


def _seen_batch(batch: AnyBatch) -> SeenBatch:
    batch.ensure_valid()
    return SeenBatch(
        magic=batch.magic,
        crc=batch.crc,
        size=batch.size,
        codec=batch.codec,
        timestamp_type=batch.timestamp_type,
        last_offset=batch.last_offset,
        next_offset=batch.next_offset,
        max_timestamp=batch.max_timestamp,
        base_offset=batch.base_offset,
        is_transactional=batch.is_transactional,
        is_control=batch.is_control,
        delete_horizon_ms=batch.delete_horizon_ms,
        partition_leader_epoch=batch.partition_leader_epoch,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        last_sequence=batch.last_sequence,
        count=batch.count if isinstance(batch, RecordBatch) else None,
        records=tuple(_seen_record(batch, record) for record in batch.records()),
    )


def _seen_record(batch: AnyBatch, record: Record) -> SpecRecord:
    assert record.timestamp_type is batch.timestamp_type
    return SpecRecord(
        offset=record.offset,
        timestamp=record.timestamp,
        key=record.key,
        value=record.value,
        headers=record.headers,
        sequence=record.sequence,
    )
