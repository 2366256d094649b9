"""Our own readers and writers, speaking the same values as Kafka's in `oracle`."""

from cordwood.records.batch import RecordBatch
from cordwood.records.record import Record
from cordwood.records.stream import AnyBatch, batches
from tests.interop.kafka_harness.spec import SeenBatch, SpecRecord


def read_ours(data: bytes | bytearray | memoryview) -> list[SeenBatch]:
    """What we see in bytes, checksums verified, up to a batch that is cut off."""
    return [_seen_batch(batch) for batch in batches(data)]


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
