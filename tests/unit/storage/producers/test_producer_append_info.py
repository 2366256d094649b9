"""Changes of one append: epochs, sequences, transactions, markers."""

import pytest

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    OutOfOrderSequenceNumberError,
    TransactionCoordinatorFencedError,
)
from cordwood.records.batch_header import BatchHeader
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.producers.ongoing_transactions import CompletedTxn
from cordwood.storage.producers.producer_append_info import ProducerAppendInfo, ProducerChanges
from cordwood.storage.producers.producer_state_entry import (
    BatchMetadata,
    ProducedBatch,
    ProducerStateEntry,
)
from cordwood.storage.producers.verification_guard import VerificationStateEntry
from tests.unit.storage.producer_batches import data, end

UNKNOWN = ProducerStateEntry(1)
LEADERS = (AppendOrigin.CLIENT, AppendOrigin.COORDINATOR, AppendOrigin.RAFT_LEADER)


def known(sequence: int, *, epoch: int = 0, **fields: int) -> ProducerStateEntry:
    """Return a producer whose last batch ended with a sequence."""
    return ProducerStateEntry(1, epoch, (BatchMetadata(sequence, 50, 0, 900),), **fields)


def changes_of(
    before: ProducerStateEntry,
    *batches: ProducedBatch,
    origin: AppendOrigin = AppendOrigin.CLIENT,
    verification: VerificationStateEntry | None = None,
    is_strict: bool = False,
) -> ProducerChanges:
    append = ProducerAppendInfo(origin, is_strict_on_markers=is_strict)
    for batch in batches:
        if batch.marker is None:
            append.append_data_batch(before, batch.header, verification=verification)
        else:
            append.append_end_txn_marker(before, batch.header, marker=batch.marker)
    return append.changes()


def after(before: ProducerStateEntry, *batches: ProducedBatch) -> ProducerStateEntry:
    return changes_of(before, *batches, origin=AppendOrigin.REPLICATION).producers[1]


def sequences(header: BatchHeader) -> tuple[int, int]:
    return header.base_sequence, header.last_sequence


# -- sequences


@pytest.mark.parametrize(("last", "following"), ((0, 1), (7, 8), (INT32_MAX, 0)))
def test_sequence_follows_the_previous_one(last: int, following: int) -> None:
    state = changes_of(known(last), data(51, following)).producers[1]

    assert state.last_sequence == following


@pytest.mark.parametrize(
    ("last", "wrong"), ((1, 1), (1, 0), (1, 5), (INT32_MAX, 1), (INT32_MAX - 1, 0))
)
def test_sequence_is_rejected_when_it_does_not_follow(last: int, wrong: int) -> None:
    with pytest.raises(OutOfOrderSequenceNumberError, match=f"sequence {wrong}, expected"):
        changes_of(known(last), data(51, wrong))


def test_sequence_may_be_any_for_a_new_producer() -> None:
    state = changes_of(
        UNKNOWN, data(0, 17, producer=(1, 5)), data(1, 99, producer=(1, 5))
    ).producers[1]

    assert state.producer_epoch == 5
    assert state.last_sequence == 99


def test_sequence_has_to_follow_within_an_append() -> None:
    with pytest.raises(OutOfOrderSequenceNumberError, match="sequence 3, expected 2"):
        changes_of(known(0), data(51, 1), data(52, 3))


def test_sequence_may_wrap_inside_a_batch() -> None:
    batch = data(2000, INT32_MAX - 10, count=21)

    state = changes_of(UNKNOWN, batch).producers[1]

    assert sequences(batch.header) == (INT32_MAX - 10, 9)
    assert state.batches == (BatchMetadata(9, 2020, 20, 1000),)
    assert state.batches[0].first_sequence == INT32_MAX - 10


def test_sequence_starts_at_0_in_a_new_epoch() -> None:
    with pytest.raises(OutOfOrderSequenceNumberError, match="sequence 8, expected 0"):
        changes_of(known(7), data(51, 8, producer=(1, 1)))

    state = changes_of(known(7), data(51, 0, producer=(1, 1))).producers[1]

    assert state.producer_epoch == 1
    assert len(state.batches) == 1


@pytest.mark.parametrize("epoch", (2, 3))
def test_sequence_starts_at_0_when_a_marker_has_raised_the_epoch(epoch: int) -> None:
    before = after(known(7), end(51, producer=(1, 2)))

    with pytest.raises(OutOfOrderSequenceNumberError, match="expected 0"):
        changes_of(before, data(52, 8, producer=(1, epoch)))

    assert changes_of(before, data(52, 0, producer=(1, epoch))).producers[1].last_sequence == 0


@pytest.mark.parametrize(
    "origin", (AppendOrigin.COORDINATOR, AppendOrigin.RAFT_LEADER, AppendOrigin.REPLICATION)
)
def test_sequence_is_not_checked_when_the_origin_is_not_a_client(origin: AppendOrigin) -> None:
    state = changes_of(known(0), data(51, -1), data(52, -1), data(53, 3), origin=origin).producers[
        1
    ]

    assert [batch.last_sequence for batch in state.batches] == [0, -1, -1, 3]


def test_sequence_is_rejected_when_the_verification_of_a_lower_one_is_pending() -> None:
    entry = VerificationStateEntry(0, 0, 0, supports_epoch_bump=False)

    with pytest.raises(OutOfOrderSequenceNumberError, match="sequence 4 must wait for sequence 0"):
        changes_of(UNKNOWN, data(0, 4, is_transactional=True), verification=entry)

    changes = changes_of(UNKNOWN, data(0, 0, is_transactional=True), verification=entry)
    assert changes.started == {0: 1}


def test_sequence_has_to_be_0_for_a_new_producer_in_transactions_v2() -> None:
    entry = VerificationStateEntry(0, 4, 0, supports_epoch_bump=True)

    with pytest.raises(OutOfOrderSequenceNumberError, match="sequence 4 must wait for sequence 0"):
        changes_of(UNKNOWN, data(0, 4, is_transactional=True), verification=entry)

    assert changes_of(known(3), data(51, 4), verification=entry).producers[1].last_sequence == 4


# -- epochs


@pytest.mark.parametrize("origin", LEADERS)
@pytest.mark.parametrize("batch", (data(51, 1), end(51)))
def test_epoch_is_rejected_when_it_is_old(origin: AppendOrigin, batch: ProducedBatch) -> None:
    with pytest.raises(InvalidProducerEpochError, match="epoch is below the last one seen, 1"):
        changes_of(known(0, epoch=1), batch, origin=origin)


@pytest.mark.parametrize("batch", (data(51, 1), end(51)))
def test_old_epoch_is_a_warning_when_the_leader_has_accepted_it(batch: ProducedBatch) -> None:
    changes = changes_of(known(0, epoch=1), batch, origin=AppendOrigin.REPLICATION)

    assert changes.producers[1].producer_epoch == 0
    assert changes.warnings == (
        "producer 1 with epoch 0 at offset 51: the epoch is below the last one seen, 1",
    )


def test_marker_of_the_same_epoch_is_rejected_when_transactions_are_v2() -> None:
    before = known(0, epoch=1, transaction_first_offset=50)

    with pytest.raises(InvalidProducerEpochError, match="the epoch is below"):
        changes_of(
            before, end(51, producer=(1, 1)), origin=AppendOrigin.COORDINATOR, is_strict=True
        )

    raised = changes_of(
        before, end(51, producer=(1, 2)), origin=AppendOrigin.COORDINATOR, is_strict=True
    )
    assert raised.producers[1].producer_epoch == 2


def test_marker_of_the_same_epoch_is_accepted_before_transactions_v2() -> None:
    before = known(0, epoch=1, transaction_first_offset=50)

    changes = changes_of(before, end(51, producer=(1, 1)), origin=AppendOrigin.COORDINATOR)

    assert len(changes.completed) == 1


def test_marker_of_the_same_epoch_is_accepted_when_it_is_the_highest() -> None:
    before = known(0, epoch=32_767, transaction_first_offset=50)
    marker = end(51, producer=(1, 32_767))

    changes = changes_of(before, marker, origin=AppendOrigin.COORDINATOR, is_strict=True)

    assert len(changes.completed) == 1


def test_marker_may_be_repeated_after_its_transaction() -> None:
    marker = end(51, producer=(1, 1))

    changes = changes_of(known(0, epoch=1), marker, origin=AppendOrigin.COORDINATOR, is_strict=True)

    assert changes.completed == ()


# -- batches


def test_producer_keeps_its_last_five_batches() -> None:
    state = changes_of(UNKNOWN, *(data(offset, offset) for offset in range(7))).producers[1]

    assert [batch.last_offset for batch in state.batches] == [2, 3, 4, 5, 6]


def test_producer_has_the_largest_timestamp_of_its_last_batch() -> None:
    state = after(known(0), data(51, 1, timestamp=1234))

    assert state.last_timestamp == 1234
    assert state.batches[-1].timestamp == 1234


# -- transactions


def test_transaction_begins_with_its_first_batch() -> None:
    batches = data(51, 1, is_transactional=True), data(52, 2, is_transactional=True)

    changes = changes_of(known(0), *batches)

    assert changes.started == {51: 1}
    assert changes.producers[1].transaction_first_offset == 51


@pytest.mark.parametrize("origin", AppendOrigin)
def test_batch_is_rejected_when_it_is_outside_an_open_transaction(origin: AppendOrigin) -> None:
    with pytest.raises(InvalidTxnStateError, match="open since offset 50"):
        changes_of(known(0, transaction_first_offset=50), data(51, 1), origin=origin)


def test_replicated_batch_is_accepted_outside_an_open_transaction() -> None:
    before = known(4, transaction_first_offset=50)
    written = ProducerAppendInfo(AppendOrigin.REPLICATION, is_written=True)

    written.append_data_batch(before, data(60, 5).header, verification=None)
    changes = written.changes()

    (warning,) = changes.warnings
    assert "at offset 60: the batch is outside the transaction" in warning
    assert changes.producers[1].last_sequence == 5
    assert changes.producers[1].transaction_first_offset == 50


def test_marker_ends_the_transaction() -> None:
    before = known(0, transaction_first_offset=50)

    changes = changes_of(before, end(51, coordinator_epoch=3, timestamp=1234))

    assert changes.completed == (CompletedTxn(1, 50, 51, is_aborted=True),)
    assert changes.producers[1] == ProducerStateEntry(1, 0, before.batches, 3, 1234)


def test_marker_commits_the_transaction() -> None:
    changes = changes_of(known(0, transaction_first_offset=50), end(51, is_commit=True))

    assert [completed.is_aborted for completed in changes.completed] == [False]


def test_marker_of_a_new_producer_creates_its_entry() -> None:
    state = changes_of(UNKNOWN, end(0, producer=(1, 2))).producers[1]

    assert state == ProducerStateEntry(1, 2, (), 0, 1000)


def test_marker_drops_the_batches_when_it_fences_the_producer() -> None:
    before = known(7, transaction_first_offset=50)

    changes = changes_of(before, end(51, producer=(1, 1)))

    assert len(changes.completed) == 1
    assert changes.producers[1].batches == ()


def test_transactions_without_records_do_not_change_an_append() -> None:
    changes = changes_of(
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
    assert changes.completed == (CompletedTxn(1, 24, 26, is_aborted=False),)


# -- coordinators


@pytest.mark.parametrize("origin", LEADERS)
def test_old_coordinator_is_fenced_after_a_marker_of_a_later_one(origin: AppendOrigin) -> None:
    before = known(0, coordinator_epoch=2)

    changes_of(before, end(51, coordinator_epoch=2), origin=origin)
    with pytest.raises(TransactionCoordinatorFencedError, match="coordinator epoch 1, below"):
        changes_of(before, end(51, coordinator_epoch=1), origin=origin)


def test_old_coordinator_is_a_warning_when_the_leader_has_accepted_it() -> None:
    before = known(0, coordinator_epoch=2)

    changes = changes_of(before, end(51, coordinator_epoch=1), origin=AppendOrigin.REPLICATION)

    assert changes.producers[1].coordinator_epoch == 1
    assert "coordinator epoch 1, below the last one seen, 2" in changes.warnings[0]


# -- guards


def test_transactional_batch_marks_its_producer_as_verified() -> None:
    plain, transactional = (
        ProducerAppendInfo(AppendOrigin.CLIENT),
        ProducerAppendInfo(AppendOrigin.CLIENT),
    )

    plain.mark_verified(data(0).header)
    transactional.mark_verified(data(0, is_transactional=True).header)

    assert plain.changes().verified == frozenset()
    assert transactional.changes().verified == {1}
