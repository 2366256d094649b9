"""Transitions of one transactional id."""

import pytest

from cordwood.coordination.transactions.transaction_metadata import (
    MAX_EPOCH,
    TransactionMetadata,
    is_epoch_exhausted,
)
from cordwood.coordination.transactions.transaction_state import TransactionState
from tests.unit.coordination.transaction_samples import BILLS, NOW, ORDERS, metadata

ONGOING = metadata(TransactionState.ONGOING)
COMPLETE = metadata(TransactionState.COMPLETE_COMMIT)


@pytest.mark.parametrize(
    ("epoch", "is_exhausted"), ((0, False), (32_765, False), (32_766, True), (32_767, True))
)
def test_epoch_is_exhausted_when_only_markers_may_have_the_next(
    epoch: int, *, is_exhausted: bool
) -> None:
    assert is_epoch_exhausted(epoch) is is_exhausted


def test_illegal_transition_is_a_mistake() -> None:
    with pytest.raises(AssertionError):
        metadata(TransactionState.PREPARE_COMMIT).to(TransactionState.ONGOING)


def test_transition_remembers_the_producer_id_before_it() -> None:
    after = ONGOING._replace(previous_producer_id=-1).to(TransactionState.PREPARE_ABORT)

    assert after.previous_producer_id == 7


def test_next_epoch_begins_without_a_transaction() -> None:
    after = COMPLETE.with_next_epoch(5_000, last_epoch=5, now_ms=NOW)

    assert after == TransactionMetadata(
        "payments", 7, 5_000, NOW, producer_epoch=6, last_producer_epoch=5, previous_producer_id=7
    )


def test_repeated_request_keeps_both_epochs() -> None:
    before = metadata()._replace(last_producer_epoch=4)

    after = before.with_same_epoch(5_000, now_ms=NOW)

    assert after == before._replace(timeout_ms=5_000, last_update_ms=NOW)


def test_new_producer_id_begins_with_epoch_0() -> None:
    before = metadata(producer=(7, 32_766))

    after = before.with_producer_id(8, 5_000, last_epoch=32_766, now_ms=NOW)

    assert (after.producer_id, after.producer_epoch, after.previous_producer_id) == (8, 0, 7)
    assert after.last_producer_epoch == 32_766


@pytest.mark.parametrize("state", (TransactionState.EMPTY, TransactionState.COMPLETE_ABORT))
def test_first_partition_begins_the_transaction(state: TransactionState) -> None:
    after = metadata(state).with_partitions({BILLS}, client_version=2, now_ms=NOW)

    assert (after.state, after.start_ms) == (TransactionState.ONGOING, NOW)
    assert after.partitions == {BILLS}
    assert after.client_version == 2


def test_further_partition_keeps_the_start() -> None:
    after = ONGOING.with_partitions({BILLS}, client_version=0, now_ms=NOW)

    assert after.start_ms == ONGOING.start_ms
    assert after.last_update_ms == NOW
    assert after.partitions == {ORDERS, BILLS}


@pytest.mark.parametrize(
    ("epoch", "level", "raised"), ((5, 0, 6), (5, 1, 6), (5, 2, 5), (MAX_EPOCH, 0, MAX_EPOCH))
)
def test_fence_raises_the_epoch_before_version_2(epoch: int, level: int, raised: int) -> None:
    after = ONGOING._replace(producer_epoch=epoch).fenced(level)

    assert after.state is TransactionState.PREPARE_EPOCH_FENCE
    assert after.producer_epoch == raised


def test_fence_does_not_raise_the_epoch_again_when_its_record_was_rejected() -> None:
    before = ONGOING._replace(has_failed_epoch_fence=True)

    assert before.fenced(0).producer_epoch == 5


@pytest.mark.parametrize(
    ("version", "epochs"), ((0, (5, -1)), (1, (5, -1)), (2, (6, 5))), ids=("v0", "v1", "v2")
)
def test_prepared_end_raises_the_epoch_in_version_2(version: int, epochs: tuple[int, int]) -> None:
    after = ONGOING.prepared(
        TransactionState.PREPARE_COMMIT, client_version=version, next_producer_id=-1, now_ms=NOW
    )

    assert (after.producer_epoch, after.last_producer_epoch) == epochs
    assert after.start_ms == ONGOING.start_ms


def test_abort_without_partitions_begins_when_it_is_prepared() -> None:
    after = metadata().prepared(
        TransactionState.PREPARE_ABORT, client_version=2, next_producer_id=-1, now_ms=NOW
    )

    assert (after.start_ms, after.partitions) == (NOW, frozenset())


def test_abort_at_the_highest_epoch_does_not_raise_it() -> None:
    after = ONGOING._replace(producer_epoch=MAX_EPOCH).prepared(
        TransactionState.PREPARE_ABORT, client_version=2, next_producer_id=8, now_ms=NOW
    )

    assert after.producer_epoch == MAX_EPOCH


@pytest.mark.parametrize(
    ("state", "complete"),
    (
        (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT),
        (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT),
    ),
)
def test_complete_transaction_has_no_partitions_and_keeps_its_start(
    state: TransactionState, complete: TransactionState
) -> None:
    before = metadata(state)._replace(has_failed_epoch_fence=True)

    after = before.completed(NOW)

    assert (after.state, after.partitions) == (complete, frozenset())
    assert after.start_ms == before.start_ms
    assert not after.has_failed_epoch_fence


def test_complete_transaction_continues_with_the_next_producer_id() -> None:
    before = metadata(TransactionState.PREPARE_COMMIT, (7, MAX_EPOCH))._replace(
        next_producer_id=8, last_producer_epoch=32_766
    )

    after = before.completed(NOW)

    assert before.next_producer == (8, 0)
    assert (after.producer_id, after.producer_epoch) == (8, 0)
    assert (after.previous_producer_id, after.next_producer_id) == (7, -1)
    assert after.last_producer_epoch == 32_766
