"""What one append does to its producers: epochs, sequences, transactions, markers."""

import pytest

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    OutOfOrderSequenceNumberError,
    TransactionCoordinatorFencedError,
)
from cordwood.records.header import BatchHeader
from cordwood.storage.origin import Origin
from cordwood.storage.producer_append import AppendDraft, Changes
from cordwood.storage.producer_state import ProducedBatch, ProducerState, WrittenBatch
from cordwood.storage.transactions import CompletedTransaction
from cordwood.storage.verification import VerificationEntry
from tests.unit.storage.producer_batches import data, end

UNKNOWN = ProducerState(1)
LEADERS = (Origin.CLIENT, Origin.COORDINATOR, Origin.RAFT_LEADER)


def known(sequence: int, *, epoch: int = 0, **fields: int) -> ProducerState:
    """A producer whose last batch ended with a sequence."""
    return ProducerState(1, epoch, (WrittenBatch(sequence, 50, 0, 900),), **fields)


def draft(
    before: ProducerState,
    *batches: ProducedBatch,
    origin: Origin = Origin.CLIENT,
    verification: VerificationEntry | None = None,
    is_strict: bool = False,
) -> Changes:
    draft = AppendDraft(origin, is_strict_on_markers=is_strict)
    for batch in batches:
        if batch.marker is None:
            draft.append_data(before, batch.header, verification=verification)
        else:
            draft.append_marker(before, batch.header, marker=batch.marker)
    return draft.changes()


def after(before: ProducerState, *batches: ProducedBatch) -> ProducerState:
    return draft(before, *batches, origin=Origin.REPLICATION).producers[1]


def sequences(header: BatchHeader) -> tuple[int, int]:
    return header.base_sequence, header.last_sequence


# -- sequences


@pytest.mark.parametrize(("last", "following"), ((0, 1), (7, 8), (INT32_MAX, 0)))
def test_sequence_follows_the_last_one(last: int, following: int) -> None:
    state = draft(known(last), data(51, following)).producers[1]

    assert state.last_sequence == following


@pytest.mark.parametrize(
    ("last", "wrong"), ((1, 1), (1, 0), (1, 5), (INT32_MAX, 1), (INT32_MAX - 1, 0))
)
def test_sequence_is_refused_when_it_does_not_follow(last: int, wrong: int) -> None:
    with pytest.raises(OutOfOrderSequenceNumberError, match=f"sequence {wrong}, expected"):
        draft(known(last), data(51, wrong))


def test_sequence_may_be_any_when_nothing_is_known() -> None:
    state = draft(UNKNOWN, data(0, 17, producer=(1, 5)), data(1, 99, producer=(1, 5))).producers[1]

    assert (state.producer_epoch, state.last_sequence) == (5, 99)


def test_sequence_has_to_follow_within_an_append() -> None:
    with pytest.raises(OutOfOrderSequenceNumberError, match="sequence 3, expected 2"):
        draft(known(0), data(51, 1), data(52, 3))


def test_sequence_may_wrap_inside_a_batch() -> None:
    batch = data(2000, INT32_MAX - 10, count=21)

    state = draft(UNKNOWN, batch).producers[1]

    assert sequences(batch.header) == (INT32_MAX - 10, 9)
    assert state.batches == (WrittenBatch(9, 2020, 20, 1000),)
    assert state.batches[0].first_sequence == INT32_MAX - 10


def test_sequence_starts_at_0_in_a_new_epoch() -> None:
    with pytest.raises(OutOfOrderSequenceNumberError, match="sequence 8, expected 0"):
        draft(known(7), data(51, 8, producer=(1, 1)))

    state = draft(known(7), data(51, 0, producer=(1, 1))).producers[1]

    assert (state.producer_epoch, len(state.batches)) == (1, 1)


@pytest.mark.parametrize("epoch", (2, 3))
def test_sequence_starts_at_0_when_a_marker_has_raised_the_epoch(epoch: int) -> None:
    before = after(known(7), end(51, producer=(1, 2)))

    with pytest.raises(OutOfOrderSequenceNumberError, match="expected 0"):
        draft(before, data(52, 8, producer=(1, epoch)))

    assert draft(before, data(52, 0, producer=(1, epoch))).producers[1].last_sequence == 0


@pytest.mark.parametrize("origin", (Origin.COORDINATOR, Origin.RAFT_LEADER, Origin.REPLICATION))
def test_sequence_is_of_no_concern_when_no_client_writes(origin: Origin) -> None:
    state = draft(known(0), data(51, -1), data(52, -1), data(53, 3), origin=origin).producers[1]

    assert [batch.last_sequence for batch in state.batches] == [0, -1, -1, 3]


def test_sequence_is_refused_when_a_lower_one_still_waits_for_verification() -> None:
    entry = VerificationEntry(0, 0, 0, supports_epoch_bump=False)

    with pytest.raises(OutOfOrderSequenceNumberError, match="sequence 4 has to wait for 0"):
        draft(UNKNOWN, data(0, 4, is_transactional=True), verification=entry)

    changes = draft(UNKNOWN, data(0, 0, is_transactional=True), verification=entry)
    assert changes.started == {0: 1}


def test_sequence_has_to_be_0_when_nothing_is_known_in_transactions_v2() -> None:
    entry = VerificationEntry(0, 4, 0, supports_epoch_bump=True)

    with pytest.raises(OutOfOrderSequenceNumberError, match="sequence 4 has to wait for 0"):
        draft(UNKNOWN, data(0, 4, is_transactional=True), verification=entry)

    assert draft(known(3), data(51, 4), verification=entry).producers[1].last_sequence == 4


# -- epochs


@pytest.mark.parametrize("origin", LEADERS)
@pytest.mark.parametrize("batch", (data(51, 1), end(51)))
def test_epoch_is_refused_when_it_is_old(origin: Origin, batch: ProducedBatch) -> None:
    with pytest.raises(InvalidProducerEpochError, match="epoch 0 at offset 51: too low, as 1"):
        draft(known(0, epoch=1), batch, origin=origin)


@pytest.mark.parametrize("batch", (data(51, 1), end(51)))
def test_old_epoch_is_a_warning_when_the_leader_has_let_it_through(batch: ProducedBatch) -> None:
    changes = draft(known(0, epoch=1), batch, origin=Origin.REPLICATION)

    assert changes.producers[1].producer_epoch == 0
    assert changes.warnings == (
        "producer 1 with epoch 0 at offset 51: too low, as 1 has been seen",
    )


def test_marker_of_the_same_epoch_is_refused_when_transactions_are_v2() -> None:
    before = known(0, epoch=1, transaction_first_offset=50)

    with pytest.raises(InvalidProducerEpochError, match="too low"):
        draft(before, end(51, producer=(1, 1)), origin=Origin.COORDINATOR, is_strict=True)

    raised = draft(before, end(51, producer=(1, 2)), origin=Origin.COORDINATOR, is_strict=True)
    assert raised.producers[1].producer_epoch == 2


def test_marker_may_come_again_when_its_transaction_is_over() -> None:
    marker = end(51, producer=(1, 1))

    changes = draft(known(0, epoch=1), marker, origin=Origin.COORDINATOR, is_strict=True)

    assert changes.completed == ()


# -- batches


def test_producer_keeps_its_last_five_batches() -> None:
    state = draft(UNKNOWN, *(data(offset, offset) for offset in range(7))).producers[1]

    assert [batch.last_offset for batch in state.batches] == [2, 3, 4, 5, 6]


def test_producer_has_the_largest_timestamp_of_its_last_batch() -> None:
    state = after(known(0), data(51, 1, timestamp=1234))

    assert (state.last_timestamp, state.batches[-1].timestamp) == (1234, 1234)


# -- transactions


def test_transaction_begins_with_its_first_batch() -> None:
    batches = data(51, 1, is_transactional=True), data(52, 2, is_transactional=True)

    changes = draft(known(0), *batches)

    assert changes.started == {51: 1}
    assert changes.producers[1].transaction_first_offset == 51


@pytest.mark.parametrize("origin", Origin)
def test_batch_is_refused_when_it_is_outside_an_open_transaction(origin: Origin) -> None:
    with pytest.raises(InvalidTxnStateError, match="open since offset 50"):
        draft(known(0, transaction_first_offset=50), data(51, 1), origin=origin)


def test_batch_that_is_written_counts_though_it_is_outside_an_open_transaction() -> None:
    before = known(4, transaction_first_offset=50)
    written = AppendDraft(Origin.REPLICATION, is_written=True)

    written.append_data(before, data(60, 5).header, verification=None)
    changes = written.changes()

    (warning,) = changes.warnings
    assert "at offset 60: a batch outside the transaction" in warning
    assert changes.producers[1].last_sequence == 5
    assert changes.producers[1].transaction_first_offset == 50


def test_marker_ends_the_transaction() -> None:
    before = known(0, transaction_first_offset=50)

    changes = draft(before, end(51, coordinator_epoch=3, timestamp=1234))

    assert changes.completed == (CompletedTransaction(1, 50, 51, is_aborted=True),)
    assert changes.producers[1] == ProducerState(1, 0, before.batches, 3, 1234)


def test_marker_says_that_the_transaction_is_committed() -> None:
    changes = draft(known(0, transaction_first_offset=50), end(51, is_commit=True))

    assert [completed.is_aborted for completed in changes.completed] == [False]


def test_marker_of_an_unknown_producer_is_all_that_is_known_of_it() -> None:
    state = draft(UNKNOWN, end(0, producer=(1, 2))).producers[1]

    assert state == ProducerState(1, 2, (), 0, 1000)


def test_marker_forgets_the_batches_when_it_fences_the_producer() -> None:
    before = known(7, transaction_first_offset=50)

    changes = draft(before, end(51, producer=(1, 1)))

    assert len(changes.completed) == 1
    assert changes.producers[1].batches == ()


def test_transactions_without_records_leave_no_trace_in_an_append() -> None:
    changes = draft(
        UNKNOWN,
        end(20),
        end(21, is_commit=True),
        end(22),
        end(23),
        data(24, 0, is_transactional=True),
        data(25, 1, is_transactional=True),
        end(26, is_commit=True),
        end(27),
        data(30, 2, is_transactional=True),
    )

    assert changes.started == {24: 1, 30: 1}
    assert changes.completed == (CompletedTransaction(1, 24, 26, is_aborted=False),)


# -- coordinators


@pytest.mark.parametrize("origin", LEADERS)
def test_coordinator_is_fenced_when_a_later_one_has_spoken(origin: Origin) -> None:
    before = known(0, coordinator_epoch=2)

    draft(before, end(51, coordinator_epoch=2), origin=origin)
    with pytest.raises(TransactionCoordinatorFencedError, match="coordinator epoch 1, below"):
        draft(before, end(51, coordinator_epoch=1), origin=origin)


def test_old_coordinator_is_a_warning_when_the_leader_has_let_it_through() -> None:
    before = known(0, coordinator_epoch=2)

    changes = draft(before, end(51, coordinator_epoch=1), origin=Origin.REPLICATION)

    assert changes.producers[1].coordinator_epoch == 1
    assert "coordinator epoch 1, below the last one seen, 2" in changes.warnings[0]


# -- guards


def test_guard_is_spent_when_a_transaction_is_written_to() -> None:
    plain, transactional = AppendDraft(Origin.CLIENT), AppendDraft(Origin.CLIENT)

    plain.spend_guard(data(0).header)
    transactional.spend_guard(data(0, is_transactional=True).header)

    assert plain.changes().verified == frozenset()
    assert transactional.changes().verified == {1}
