"""Tests of the batches of internal topics."""

from cordwood.coordination.coordinator_record import CoordinatorRecord, StoredMarker, StoredRecord
from cordwood.coordination.outcome import TransactionalProducer
from cordwood.coordination.runtime.internal_batches import decode_batches, encode_batch
from cordwood.protocol.messages.internal import (
    GROUP_RECORDS,
    GroupMetadataKey,
    TransactionLogKey,
)
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.record_batch import RecordBatch
from tests.unit.coordination.runtime.runtime_samples import group_record


def test_records_of_one_outcome_are_one_batch() -> None:
    batch = RecordBatch(encode_batch([group_record("g"), group_record("h")], now_ms=5))

    assert (batch.count, batch.max_timestamp, batch.producer_id) == (2, 5, -1)
    assert not batch.is_transactional


def test_records_of_a_transaction_have_its_producer_and_sequence_0() -> None:
    producer = TransactionalProducer(7, 2)

    batch = RecordBatch(encode_batch([group_record("g")], now_ms=5, producer=producer))

    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (7, 2, 0)
    assert batch.is_transactional


def test_stored_records_have_their_offsets_and_the_producer_of_their_transaction() -> None:
    producer = TransactionalProducer(7, 2)
    plain = encode_batch([group_record("g")], now_ms=5)
    pending = encode_batch([group_record("h")], now_ms=5, producer=producer)
    RecordBatch(pending).set_base_offset(9)

    items = decode_batches(GROUP_RECORDS, memoryview(plain + pending))

    assert items == [
        StoredRecord(group_record("g"), 0),
        StoredRecord(group_record("h"), 9, 7, 2),
    ]


def test_marker_is_the_end_of_a_transaction() -> None:
    fields = BatchFields(base_offset=4, producer_id=7, producer_epoch=2)
    batch = control_batch(EndTransaction(True, 1), fields, timestamp=5)  # noqa: FBT003 - a value

    assert decode_batches(GROUP_RECORDS, memoryview(batch)) == [
        StoredMarker(7, 2, 4, is_commit=True)
    ]


def test_records_of_unknown_types_are_left_out() -> None:
    builder = BatchBuilder()
    builder.append(b"\x00\x0b\x00\x01s", b"\x00\x00")

    assert decode_batches(GROUP_RECORDS, memoryview(builder.build())) == []


def test_tombstone_is_a_record_without_a_value() -> None:
    tombstone = CoordinatorRecord(2, GroupMetadataKey(group="g"), None)

    (item,) = decode_batches(GROUP_RECORDS, memoryview(encode_batch([tombstone], now_ms=5)))

    assert item == StoredRecord(tombstone, 0)
    assert TransactionLogKey(transactional_id="t") != tombstone.key


def test_last_record_of_a_key_supersedes_those_before_it() -> None:
    batch = encode_batch([group_record("g"), group_record("h"), group_record("g")], now_ms=5)

    items = decode_batches(GROUP_RECORDS, memoryview(batch))

    assert items == [StoredRecord(group_record("h"), 1), StoredRecord(group_record("g"), 2)]


def test_records_of_transactions_are_superseded_by_none() -> None:
    """Their outcome is not known, and each counts until then."""
    producer = TransactionalProducer(7, 2)
    pending = encode_batch([group_record("g"), group_record("g")], now_ms=5, producer=producer)
    plain = encode_batch([group_record("g")], now_ms=5)
    RecordBatch(plain).set_base_offset(2)

    items = decode_batches(GROUP_RECORDS, memoryview(pending + plain))

    assert [each.offset for each in items] == [0, 1, 2]
