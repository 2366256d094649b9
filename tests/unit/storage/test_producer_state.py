"""What is remembered of a producer, and what its batches say of it."""

import pytest

from cordwood.core.errors import InvalidRecordError
from cordwood.records.builder import BatchBuilder, BatchFields, empty_batch
from cordwood.records.control import EndTransaction, KRaftVersion, control_batch
from cordwood.records.header import read_header
from cordwood.storage.producer_state import ProducedBatch, ProducerState, WrittenBatch

FIELDS = BatchFields(base_offset=43, producer_id=7, producer_epoch=1, base_sequence=0)


def read(data: bytes | bytearray) -> ProducedBatch:
    header = read_header(data)
    assert header is not None
    return ProducedBatch.of(header, data)


@pytest.mark.parametrize("is_commit", (True, False))
def test_batch_of_a_marker_says_how_the_transaction_ends(*, is_commit: bool) -> None:
    marker = EndTransaction(is_commit=is_commit, coordinator_epoch=9)

    batch = read(control_batch(marker, FIELDS, timestamp=1000))

    assert batch.marker == marker
    assert batch.header.base_offset == 43


def test_batch_of_records_has_no_marker() -> None:
    builder = BatchBuilder(FIELDS)
    builder.append(b"k", b"v", timestamp=1000)

    assert read(builder.build()).marker is None


def test_batch_of_a_marker_says_nothing_when_the_record_has_been_cleaned_away() -> None:
    fields = FIELDS._replace(is_control=True, is_transactional=True, base_sequence=-1)

    batch = read(empty_batch(fields, last_offset=43, max_timestamp=5))

    assert batch.header.is_control
    assert batch.marker is None


def test_batch_of_a_quorum_has_no_producer_and_so_no_marker() -> None:
    assert read(control_batch(KRaftVersion(1), BatchFields(), timestamp=5)).marker is None


def test_batch_is_refused_when_a_producer_speaks_as_a_quorum() -> None:
    data = control_batch(KRaftVersion(1), FIELDS, timestamp=5)

    with pytest.raises(InvalidRecordError, match="ends no transaction"):
        read(data)


@pytest.mark.parametrize(
    ("last_sequence", "delta", "first_sequence"), ((12, 2, 10), (9, 20, (1 << 31) - 11), (0, 0, 0))
)
def test_written_batch_knows_where_it_began(
    last_sequence: int, delta: int, first_sequence: int
) -> None:
    batch = WrittenBatch(last_sequence, 2020, delta, 1000)

    assert (batch.first_sequence, batch.first_offset) == (first_sequence, 2020 - delta)


def test_producer_without_batches_has_no_sequence_and_no_offset() -> None:
    state = ProducerState(7)

    assert (state.last_sequence, state.last_offset, state.producer_epoch) == (-1, -1, -1)
    assert not state.has_transaction


def test_producer_has_the_sequence_and_offset_of_its_last_batch() -> None:
    state = ProducerState(7, 1, (WrittenBatch(1, 11, 1, 5), WrittenBatch(4, 14, 2, 6)))

    assert (state.last_sequence, state.last_offset) == (4, 14)


@pytest.mark.parametrize(("now_ms", "is_expired"), ((1099, False), (1100, True)))
def test_producer_expires_when_it_has_been_idle(*, now_ms: int, is_expired: bool) -> None:
    state = ProducerState(7, 1, last_timestamp=1000)

    assert state.is_expired(now_ms, after_ms=100) is is_expired


def test_producer_never_expires_in_a_transaction() -> None:
    state = ProducerState(7, 1, last_timestamp=1000, transaction_first_offset=0)

    assert not state.is_expired(1 << 62, after_ms=100)
    assert state.has_transaction_of(1)
    assert not state.has_transaction_of(2)
