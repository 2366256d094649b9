"""Batches of an internal topic: records to one batch, and stored batches to records and markers.

Kafka: `CoordinatorRuntime` (the builder of a write), `CoordinatorLoaderImpl`. A transactional batch
has sequence 0, as Kafka writes it; sequences of coordinators are not checked.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from cordwood.coordination.coordinator_record import (
    CoordinatorRecord,
    RecordTypes,
    StoredMarker,
    StoredRecord,
    decode_record,
    encode_record,
)
from cordwood.coordination.offsets.committed_run import CommittedRun
from cordwood.coordination.outcome import TransactionalProducer
from cordwood.coordination.runtime.commit_batches import read_commit_batches
from cordwood.coordination.runtime.offset_commit_reader import read_offset_commit
from cordwood.coordination.runtime.offset_commit_writer import write_offset_commit
from cordwood.coordination.runtime.plain_records import PlainRecord, plain_records
from cordwood.records.batch_builder import NO_FIELDS, BatchBuilder, BatchFields
from cordwood.records.batch_stream import AnyBatch, batch_at
from cordwood.records.compression import Codec
from cordwood.records.control_records import EndTransaction, read_control
from cordwood.records.record_batch import RecordBatch

StoredItem: TypeAlias = StoredRecord | StoredMarker | CommittedRun
"""A record, a marker or a run of commits of a partition, in the order of the log."""

_FIRST_SEQUENCE: Final = 0
#: The record type of committed offsets, which `__transaction_state` does not have.
_OFFSET_COMMIT: Final = 1


def encode_batch(
    records: Sequence[CoordinatorRecord],
    *,
    now_ms: int,
    producer: TransactionalProducer | None = None,
    codec: Codec = Codec.NONE,
) -> bytearray:
    """Return the batch of one outcome; with a producer it is part of its transaction."""
    fields = NO_FIELDS if codec is Codec.NONE else NO_FIELDS._replace(codec=codec)
    if producer is not None:
        fields = BatchFields(
            codec=codec,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=_FIRST_SEQUENCE,
            is_transactional=True,
        )
    builder = BatchBuilder(fields)
    for record in records:
        key, value = encode_internal(record)
        builder.append(key, value, timestamp=now_ms)
    return builder.build()


def encode_internal(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Return the key and the value of a record."""
    return write_offset_commit(record) or encode_record(record)


class _Encoded(NamedTuple):
    """A record as the log has it, with the producer of its transaction."""

    offset: int
    key: bytes
    value: bytes | None
    producer_id: int = -1
    producer_epoch: int = -1


def decode_batches(
    types: RecordTypes, data: memoryview, *, has_runs: bool = False
) -> list[StoredItem]:
    """Return the records and markers of whole batches; records of unknown types are left out.

    So are records that a later one of the same key supersedes, as in a compacted partition. With
    `has_runs` commits may be runs.
    """
    found, at = list[_Encoded | StoredMarker | CommittedRun](), 0
    whole = bytes(data) if has_runs else b""
    while at < len(data):
        if has_runs:
            runs = list[CommittedRun]()
            at = read_commit_batches(whole, at, runs=runs)
            found += runs
        batch = batch_at(data, at)
        if batch is None:
            break
        found += _items(batch)
        at = batch.end
    return _decoded(types, found)


def _items(batch: AnyBatch) -> Iterator[_Encoded | StoredMarker]:
    if isinstance(batch, RecordBatch) and batch.is_control:
        return _markers(batch)
    return _records(batch)


def _markers(batch: RecordBatch) -> Iterator[StoredMarker]:
    for record in batch.records():
        control = read_control(record)
        if isinstance(control, EndTransaction):
            yield StoredMarker(
                batch.producer_id, batch.producer_epoch, record.offset, control.is_commit
            )


def _records(batch: AnyBatch) -> Iterator[_Encoded]:
    producer = (-1, -1)
    plain: Iterable[PlainRecord] | None = None
    if isinstance(batch, RecordBatch):
        plain = plain_records(batch)
        if batch.is_transactional:
            producer = batch.producer_id, batch.producer_epoch
    if plain is None:
        plain = (PlainRecord(each.offset, each.key, each.value) for each in batch.records())
    for offset, key, value in plain:
        if key is not None:
            yield _Encoded(offset, key, value, *producer)


def _decoded(
    types: RecordTypes, found: Sequence[_Encoded | StoredMarker | CommittedRun]
) -> list[StoredItem]:
    """Decode what counts: all of a transaction, whose end is not known, and the last of a key."""
    last = {
        each.key: each.offset
        for each in found
        if isinstance(each, _Encoded) and each.producer_id < 0
    }
    items = list[StoredItem]()
    for each in found:
        if not isinstance(each, _Encoded):
            items.append(each)
        elif each.producer_id >= 0 or last[each.key] == each.offset:
            record = _record(types, each)
            if record is not None:
                items.append(record)
    return items


def _record(types: RecordTypes, encoded: _Encoded) -> StoredRecord | None:
    offset, key, value, producer_id, producer_epoch = encoded
    found = read_offset_commit(key, value) if _OFFSET_COMMIT in types else None
    if found is None:
        found = decode_record(types, key, value=value)
    return None if found is None else StoredRecord(found, offset, producer_id, producer_epoch)
