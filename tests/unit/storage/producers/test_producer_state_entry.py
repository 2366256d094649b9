"""Producer state entries and the markers in produced batches."""

import pytest

from cordwood.core.errors import InvalidRecordError
from cordwood.records.batch_builder import BatchBuilder, BatchFields, empty_batch
from cordwood.records.batch_header import read_header
from cordwood.records.control_records import EndTransaction, KRaftVersion, control_batch
from cordwood.storage.producers.producer_state_entry import (
    BatchMetadata,
    ProducedBatch,
    ProducerStateEntry,
)

FIELDS = BatchFields(base_offset=43, producer_id=7, producer_epoch=1, base_sequence=0)


def read(data: bytes | bytearray) -> ProducedBatch:
    header = read_header(data)
    assert header is not None
    return ProducedBatch.of(header, data)


@pytest.mark.parametrize("is_commit", (True, False))
def test_batch_of_a_marker_has_the_result_of_the_transaction(*, is_commit: bool) -> None:
    marker = EndTransaction(is_commit=is_commit, coordinator_epoch=9)

    batch = read(control_batch(marker, FIELDS, timestamp=1000))

    assert batch.marker == marker
    assert batch.header.base_offset == 43


def test_batch_of_records_has_no_marker() -> None:
    builder = BatchBuilder(FIELDS)
    builder.append(b"k", b"v", timestamp=1000)

    assert read(builder.build()).marker is None


def test_control_batch_has_no_marker_when_the_record_has_been_cleaned() -> None:
    fields = FIELDS._replace(is_control=True, is_transactional=True, base_sequence=-1)

    batch = read(empty_batch(fields, last_offset=43, max_timestamp=5))

    assert batch.header.is_control
    assert batch.marker is None


def test_batch_of_a_quorum_has_no_producer_and_so_no_marker() -> None:
    assert read(control_batch(KRaftVersion(1), BatchFields(), timestamp=5)).marker is None


def test_batch_is_rejected_when_a_producer_writes_a_quorum_record() -> None:
    data = control_batch(KRaftVersion(1), FIELDS, timestamp=5)

    with pytest.raises(InvalidRecordError, match="does not end a transaction"):
        read(data)


@pytest.mark.parametrize(
    ("last_sequence", "delta", "first_sequence"), ((12, 2, 10), (9, 20, (1 << 31) - 11), (0, 0, 0))
)
def test_batch_metadata_has_the_first_sequence_and_offset(
    last_sequence: int, delta: int, first_sequence: int
) -> None:
    batch = BatchMetadata(last_sequence, 2020, delta, 1000)

    assert batch.first_sequence == first_sequence
    assert batch.first_offset == 2020 - delta


def test_producer_without_batches_has_no_sequence_and_no_offset() -> None:
    state = ProducerStateEntry(7)

    assert state.last_sequence == -1
    assert state.last_offset == -1
    assert state.producer_epoch == -1
    assert not state.has_transaction


def test_producer_has_the_sequence_and_offset_of_its_last_batch() -> None:
    state = ProducerStateEntry(7, 1, (BatchMetadata(1, 11, 1, 5), BatchMetadata(4, 14, 2, 6)))

    assert state.last_sequence == 4
    assert state.last_offset == 14


@pytest.mark.parametrize(("now_ms", "is_expired"), ((1099, False), (1100, True)))
def test_producer_expires_when_it_has_been_idle(*, now_ms: int, is_expired: bool) -> None:
    state = ProducerStateEntry(7, 1, last_timestamp=1000)

    assert state.is_expired(now_ms, after_ms=100) is is_expired


def test_producer_never_expires_in_a_transaction() -> None:
    state = ProducerStateEntry(7, 1, last_timestamp=1000, transaction_first_offset=0)

    assert not state.is_expired(1 << 62, after_ms=100)
    assert state.has_transaction_of(1)
    assert not state.has_transaction_of(2)
