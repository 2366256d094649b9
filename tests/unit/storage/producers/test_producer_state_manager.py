"""A log's producers through appends, transactions, expiration and snapshots."""

import pytest

from cordwood.core.errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    OutOfOrderSequenceNumberError,
)
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.producers.ongoing_transactions import CompletedTxn
from cordwood.storage.producers.producer_append_info import DuplicateBatch, ProducerChanges
from cordwood.storage.producers.producer_state_entry import (
    BatchMetadata,
    ProducedBatch,
    ProducerStateEntry,
)
from cordwood.storage.producers.producer_state_manager import (
    ProducerStateManager,
    ProducerStateManagerConfig,
)
from cordwood.storage.producers.verification_guard import VerificationGuard
from tests.unit.storage.producer_batches import append, data, end, header_at

WITHOUT_PRODUCER = ProducedBatch(header_at(0, producer=(-1, -1), sequence=-1))


def states_of(*batches: ProducedBatch, expiration_ms: int = 86_400_000) -> ProducerStateManager:
    states = ProducerStateManager(ProducerStateManagerConfig(id_expiration_ms=expiration_ms))
    for batch in batches:
        states.replay(batch)
    return states


def begin(
    states: ProducerStateManager, sequence: int = 0, *, epoch: int = 0, is_v2: bool = False
) -> VerificationGuard:
    guard = states.start_verification(
        1, sequence=sequence, epoch=epoch, now_ms=0, supports_epoch_bump=is_v2
    )
    assert guard is not None
    return guard


# -- analysis


@pytest.mark.parametrize("origin", AppendOrigin)
def test_batch_without_a_producer_changes_no_state(origin: AppendOrigin) -> None:
    states = states_of()

    changes = append(states, WITHOUT_PRODUCER, origin=origin)

    assert changes == ProducerChanges()
    assert states.is_empty
    assert states.map_end_offset == 1


def test_analysis_changes_no_state_until_it_is_applied() -> None:
    states = states_of(data(0, 0))
    before = dict(states.producers)

    changes = states.analyze((data(1, 1, is_transactional=True), end(2)), AppendOrigin.REPLICATION)

    assert states.producers == before
    assert states.first_undecided_offset is None
    assert isinstance(changes, ProducerChanges)
    assert set(changes.producers) == {1}


def test_analysis_rejects_all_batches_when_one_is_invalid() -> None:
    states = states_of(data(0, 0))
    before = dict(states.producers)

    with pytest.raises(OutOfOrderSequenceNumberError):
        states.analyze((data(1, 1), data(2, 3)), AppendOrigin.CLIENT)

    assert states.producers == before


def test_producers_are_tracked_separately() -> None:
    states = states_of()

    append(
        states, data(0, 5, producer=(1, 0)), data(1, 9, producer=(2, 3)), origin=AppendOrigin.CLIENT
    )

    known = [(each.producer_epoch, each.last_sequence) for each in states.producers.values()]
    assert known == [(0, 5), (3, 9)]


def test_control_batch_has_no_effect_when_it_has_been_cleaned() -> None:
    states = states_of(data(0, is_transactional=True))

    append(states, end(1)._replace(marker=None))

    assert states.first_undecided_offset == 0


# -- duplicates


def test_duplicate_of_one_of_the_last_five_batches_is_acknowledged() -> None:
    states = states_of(*(data(offset, offset, timestamp=offset) for offset in range(6)))

    fifth = states.analyze((data(6, 1),), AppendOrigin.CLIENT)
    assert fifth == DuplicateBatch(1, 1, 1)

    with pytest.raises(OutOfOrderSequenceNumberError):
        states.analyze((data(6, 0),), AppendOrigin.CLIENT)


@pytest.mark.parametrize(("sequence", "count"), ((1, 3), (0, 2), (2, 1), (0, 4)))
def test_duplicate_has_exactly_the_same_sequences(sequence: int, count: int) -> None:
    states = states_of(data(0, 0, count=3))

    with pytest.raises(OutOfOrderSequenceNumberError):
        states.analyze((data(3, sequence, count=count),), AppendOrigin.CLIENT)


def test_batch_is_not_a_duplicate_in_another_epoch() -> None:
    states = states_of(data(0, 0))

    changes = states.analyze((data(1, 0, producer=(1, 1)),), AppendOrigin.CLIENT)

    assert isinstance(changes, ProducerChanges)


@pytest.mark.parametrize("origin", (AppendOrigin.COORDINATOR, AppendOrigin.REPLICATION))
def test_duplicate_is_written_when_the_origin_is_not_a_client(origin: AppendOrigin) -> None:
    states = states_of(data(0, 0))

    append(states, data(1, 0), data(2, 0), origin=origin)

    assert [batch.last_offset for batch in states.producers[1].batches] == [0, 1, 2]


# -- verification

VERIFIED = (AppendOrigin.CLIENT, AppendOrigin.COORDINATOR)


@pytest.mark.parametrize("origin", VERIFIED)
def test_transaction_is_rejected_when_it_is_not_verified(origin: AppendOrigin) -> None:
    batch = data(0, is_transactional=True)

    with pytest.raises(InvalidTxnStateError, match="was not verified"):
        states_of().analyze((batch,), origin)


@pytest.mark.parametrize("origin", (AppendOrigin.RAFT_LEADER, AppendOrigin.REPLICATION))
def test_transaction_needs_no_guard_when_the_leader_has_verified_it(
    origin: AppendOrigin,
) -> None:
    states = states_of()

    append(states, data(0, is_transactional=True), origin=origin)

    assert states.first_undecided_offset == 0


def test_transaction_needs_no_guard_when_verification_is_switched_off() -> None:
    states = ProducerStateManager(ProducerStateManagerConfig(is_verifying_transactions=False))

    append(states, data(0, is_transactional=True), origin=AppendOrigin.CLIENT)

    assert states.first_undecided_offset == 0


@pytest.mark.parametrize("origin", VERIFIED)
def test_transaction_is_opened_with_its_guard(origin: AppendOrigin) -> None:
    states = states_of()
    guard = begin(states)

    first = data(0, 0, is_transactional=True), data(1, 1, is_transactional=True)
    append(states, *first, origin=AppendOrigin.COORDINATOR, guard=guard)
    append(states, data(2, 2, is_transactional=True), origin=origin)

    assert states.producers[1].has_transaction_of(0)
    assert states.start_verification(1, sequence=3, epoch=0, now_ms=0) is None


def test_guard_is_invalid_after_a_marker_in_between() -> None:
    states = states_of()
    guard = begin(states)
    append(states, end(0), origin=AppendOrigin.COORDINATOR)
    begin(states)

    with pytest.raises(InvalidTxnStateError):
        states.analyze((data(1, is_transactional=True),), AppendOrigin.CLIENT, guard=guard)


@pytest.mark.parametrize(("marker_epoch", "is_kept"), ((1, True), (2, False)))
def test_guard_survives_the_marker_when_it_is_of_the_next_transaction(
    *, marker_epoch: int, is_kept: bool
) -> None:
    states = states_of(data(0, is_transactional=True))
    guard = begin(states, epoch=1, is_v2=True)
    append(states, end(1, producer=(1, marker_epoch)), origin=AppendOrigin.COORDINATOR)

    again = states.start_verification(1, sequence=0, epoch=2, now_ms=0, supports_epoch_bump=True)

    assert (again is guard) is is_kept


def test_guard_stays_when_the_append_is_rejected() -> None:
    states = states_of()
    guard = begin(states, 0)

    with pytest.raises(OutOfOrderSequenceNumberError):
        states.analyze((data(0, 4, is_transactional=True),), AppendOrigin.CLIENT, guard=guard)

    assert begin(states, 4) is guard


def test_transaction_needs_a_guard_when_the_open_one_is_of_an_older_epoch() -> None:
    states = states_of(data(0, is_transactional=True))

    assert states.producers[1].has_transaction_of(0)
    assert not states.producers[1].has_transaction_of(1)
    with pytest.raises(InvalidTxnStateError):
        states.analyze((data(1, producer=(1, 1), is_transactional=True),), AppendOrigin.CLIENT)


@pytest.mark.parametrize("origin", VERIFIED)
def test_old_epoch_is_rejected_before_a_missing_guard(origin: AppendOrigin) -> None:
    states = states_of(data(0, producer=(1, 3)))

    with pytest.raises(InvalidProducerEpochError):
        states.analyze((data(1, producer=(1, 2), is_transactional=True),), origin)


def test_verification_has_the_lowest_sequence_of_its_requests() -> None:
    states = states_of()
    guard = begin(states, 10)

    assert begin(states, 5) is guard

    with pytest.raises(OutOfOrderSequenceNumberError, match="sequence 6 must wait for sequence 5"):
        states.analyze((data(0, 6, is_transactional=True),), AppendOrigin.CLIENT, guard=guard)


@pytest.mark.parametrize("sequence", (1, 10))
def test_first_sequence_is_0_after_a_marker_has_raised_the_epoch(sequence: int) -> None:
    states = states_of(data(0, count=10, is_transactional=True))
    append(states, end(10, producer=(1, 1)), origin=AppendOrigin.COORDINATOR)
    guard = begin(states, sequence, epoch=1, is_v2=True)
    batch = data(11, sequence, producer=(1, 1), is_transactional=True)

    with pytest.raises(OutOfOrderSequenceNumberError):
        states.analyze((batch,), AppendOrigin.CLIENT, guard=guard)


def test_verification_is_rejected_when_the_epoch_is_old() -> None:
    states = states_of(data(0, producer=(1, 3)))

    with pytest.raises(InvalidProducerEpochError, match="epoch 2, below the last one seen, 3"):
        states.start_verification(1, sequence=0, epoch=2, now_ms=0)


def test_verification_expires_when_it_is_not_finished() -> None:
    states = states_of(expiration_ms=100)
    guard = begin(states)

    states.expire(100)

    assert begin(states) is not guard


# -- transactions


def test_transactions_are_unstable_until_their_markers_are_replicated() -> None:
    states = states_of(
        data(99, producer=(1, 0), is_transactional=True),
        data(105, producer=(2, 0), is_transactional=True),
    )
    seen = []

    for marker, high_watermark in (
        (end(109, producer=(1, 0), is_commit=True), 100),
        (None, 110),
        (end(112, producer=(2, 0)), 112),
        (None, 113),
    ):
        if marker is not None:
            states.replay(marker)
        states.on_high_watermark(high_watermark)
        seen.append((states.first_undecided_offset, states.first_unstable_offset))

    assert seen == [(105, 99), (105, 105), (None, 105), (None, None)]


def test_last_stable_offset_is_where_the_next_open_transaction_begins() -> None:
    states = states_of(
        data(10, producer=(1, 0), is_transactional=True),
        data(35, producer=(2, 0), is_transactional=True),
    )

    first = states.replay(end(40, producer=(1, 0)))
    second = states.replay(end(41, producer=(2, 0), is_commit=True))

    assert first == (CompletedTxn(1, 10, 40, is_aborted=True), 35)
    assert second == (CompletedTxn(2, 35, 41, is_aborted=False), 42)


def test_replay_accepts_with_a_warning_a_batch_that_a_leader_would_reject() -> None:
    states = states_of(data(0, 0, is_transactional=True))
    warnings: list[str] = []

    states.replay(data(1, 1), lambda *texts: warnings.extend(texts))
    states.replay(data(2, 2, is_transactional=True), lambda *texts: warnings.extend(texts))
    done = states.replay(end(3, is_commit=True))

    assert [text.partition(":")[0] for text in warnings] == ["producer 1 with epoch 0 at offset 1"]
    assert done == (CompletedTxn(1, 0, 3, is_aborted=False), 4)
    assert states.producers[1].last_sequence == 2


def test_interleaved_transactions_leave_the_same_index_when_appended_or_replayed() -> None:
    batches = _interleaving()
    replayed, appended = states_of(), states_of()

    found = [done for batch in batches if (done := replayed.replay(batch))]
    aborted = [
        (done.producer_id, done.first_offset, done.last_offset, stable)
        for done, stable in found
        if done.is_aborted
    ]
    append(appended, *batches)

    assert aborted == [(1, 0, 29, 8), (2, 8, 74, 36)]
    assert replayed.producers == appended.producers
    assert replayed.map_end_offset == appended.map_end_offset == 90
    assert _unstable_at(replayed) == _unstable_at(appended) == [0, 8, 36, None]


def _unstable_at(states: ProducerStateManager) -> list[int | None]:
    unstable = []
    for high_watermark in (0, 30, 75, 90):
        states.on_high_watermark(high_watermark)
        unstable.append(states.first_unstable_offset)
    return unstable


def _interleaving() -> list[ProducedBatch]:
    """Return the transactions of four producers and records without one, 90 offsets in all."""
    steps = "1:5 -:3 2:2 1:4 3:3 -:2 1:10 1:abort 2:6 4:3 -:10 3:9 3:commit 4:8 2:7 2:abort -:10"
    offset, batches, written = 0, [], dict.fromkeys("1234", 0)
    for step in f"{steps} 4:4 4:commit".split():
        who, what = step.split(":")
        if what in {"abort", "commit"}:
            batch = end(offset, producer=(int(who), 0), is_commit=what == "commit")
        elif who == "-":
            batch = ProducedBatch(
                header_at(offset, producer=(-1, -1), sequence=-1, count=int(what))
            )
        else:
            batch = data(
                offset,
                written[who],
                producer=(int(who), 0),
                count=int(what),
                is_transactional=True,
            )
            written[who] += int(what)
        batches.append(batch)
        offset = batch.header.next_offset
    return batches


# -- changes of the log


def test_log_start_drops_decided_transactions_below_it_and_keeps_producers() -> None:
    states = states_of(data(0, is_transactional=True), end(1))

    states.on_log_start(1)
    before = states.first_unstable_offset
    states.on_log_start(5)

    assert before == 0
    assert states.first_unstable_offset is None
    assert states.map_end_offset == 5
    assert set(states.producers) == {1}


def test_producer_starts_again_when_it_has_expired() -> None:
    states = states_of(
        data(0, 0, timestamp=1000), data(1, producer=(2, 0), timestamp=1050), expiration_ms=100
    )

    gone = states.expire(1100)

    assert gone == 1
    assert set(states.producers) == {2}
    append(states, data(2, 17), origin=AppendOrigin.CLIENT)


def test_producer_never_expires_when_it_has_an_open_transaction() -> None:
    states = states_of(data(0, is_transactional=True), expiration_ms=100)

    assert states.expire(1 << 62) == 0


def test_clear_removes_producers_and_transactions() -> None:
    states = states_of(data(0, is_transactional=True), end(1), data(2, is_transactional=True))

    states.clear(42)

    assert states.is_empty
    assert states.first_unstable_offset is None
    assert states.map_end_offset == 42


def test_states_are_not_empty_while_a_marker_is_not_replicated() -> None:
    states = states_of(data(0, timestamp=0, is_transactional=True), end(1, timestamp=0))
    states.expire(1 << 62)

    before = states.is_empty
    states.on_high_watermark(2)

    assert not before
    assert states.is_empty


# -- snapshots


def test_load_leaves_out_expired_producers() -> None:
    states = states_of(expiration_ms=100)
    entries = [
        ProducerStateEntry(1, 0, last_timestamp=0),
        ProducerStateEntry(2, 0, last_timestamp=1),
    ]

    states.load(entries, end_offset=10, now_ms=100)

    assert set(states.producers) == {2}
    assert states.map_end_offset == 10


def test_load_opens_the_transactions_in_the_order_of_their_offsets() -> None:
    states = states_of(data(0, is_transactional=True))
    entries = [ProducerStateEntry(2, 0, transaction_first_offset=7), ProducerStateEntry(1, 0)]
    entries.append(ProducerStateEntry(3, 0, transaction_first_offset=5))

    states.load(entries, end_offset=10, now_ms=0)

    assert states.first_undecided_offset == 5
    done = states.replay(end(10, producer=(3, 0)))
    assert done == (CompletedTxn(3, 5, 10, is_aborted=True), 7)


def test_load_recognizes_the_last_batch_as_a_duplicate() -> None:
    states = states_of()
    states.load([ProducerStateEntry(1, 0, (BatchMetadata(4, 14, 2, 9),))], end_offset=15, now_ms=0)

    assert states.analyze((data(15, 2, count=3),), AppendOrigin.CLIENT) == DuplicateBatch(12, 14, 9)
    with pytest.raises(OutOfOrderSequenceNumberError):
        states.analyze((data(15, 1),), AppendOrigin.CLIENT)


@pytest.mark.parametrize("cut", range(0, 20, 3))
def test_snapshot_and_later_batches_restore_the_state_of_the_whole_log(cut: int) -> None:
    batches = _interleaving()
    whole, first, second = states_of(*batches), states_of(*batches[:cut]), states_of()
    entries = [each._replace(batches=each.batches[-1:]) for each in first.producers.values()]

    second.load(entries, end_offset=first.map_end_offset, now_ms=0)
    for batch in batches[cut:]:
        second.replay(batch)

    assert _without_earlier_batches(second) == _without_earlier_batches(whole)
    assert second.first_undecided_offset == whole.first_undecided_offset


def _without_earlier_batches(states: ProducerStateManager) -> dict[int, ProducerStateEntry]:
    return {
        key: state._replace(batches=state.batches[-1:]) for key, state in states.producers.items()
    }


def test_append_accepts_any_sequence_of_a_new_producer() -> None:
    states = states_of()

    append(states, data(0, 3, producer=(1, 1)), origin=AppendOrigin.CLIENT)

    assert states.producers[1].last_sequence == 3
