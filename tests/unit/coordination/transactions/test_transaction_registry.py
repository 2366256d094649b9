"""Transactional ids of one partition, and their pending transitions."""

import pytest

from cordwood.coordination.transactions.transaction_log import transaction_record
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_registry import TransactionRegistry
from cordwood.coordination.transactions.transaction_state import TransactionState
from tests.unit.coordination.transaction_samples import ID, NOW, metadata

ONGOING = metadata(TransactionState.ONGOING)


def registry_of(*transactions: TransactionMetadata) -> TransactionRegistry:
    registry = TransactionRegistry()
    for each in transactions:
        registry.replay(transaction_record(each, version=1))
    return registry


def names(registry: TransactionRegistry) -> list[str]:
    return [each.transactional_id for each in registry]


def test_replay_replaces_the_metadata() -> None:
    registry = registry_of(metadata(), ONGOING)

    assert registry.get(ID) == ONGOING
    assert len(registry) == 1


def test_tombstone_removes_the_id() -> None:
    registry = registry_of(metadata(), metadata().to(TransactionState.DEAD))

    assert registry.get(ID) is None


def test_tombstone_of_an_ongoing_transaction_removes_it_from_the_index() -> None:
    registry = registry_of(ONGOING, metadata().to(TransactionState.DEAD))

    assert list(registry.ongoing()) == []


def test_ids_are_in_the_order_of_their_last_records() -> None:
    other = metadata()._replace(transactional_id="other")

    assert names(registry_of(metadata(), other)) == [ID, "other"]
    assert names(registry_of(metadata(), other, metadata())) == ["other", ID]


def test_only_ongoing_transactions_are_in_the_index() -> None:
    registry = registry_of(ONGOING)
    assert list(registry.ongoing()) == [ONGOING]

    registry.replay(transaction_record(metadata(TransactionState.PREPARE_COMMIT), version=1))

    assert list(registry.ongoing()) == []


def test_transition_is_pending_until_its_record_is_replayed() -> None:
    registry = registry_of(metadata())
    after = metadata().with_next_epoch(1_000, last_epoch=5, now_ms=NOW)

    registry.begin([after])
    assert registry.is_pending(ID)
    assert registry.get(ID) == metadata()
    registry.replay(transaction_record(after, version=1))

    assert not registry.is_pending(ID)
    # The last epoch is not in the record.
    assert registry.get(ID) == after


def test_prepared_transaction_is_pending_until_it_is_complete() -> None:
    registry = registry_of(metadata(TransactionState.PREPARE_ABORT))

    assert registry.is_pending(ID)
    assert not registry.is_changing(ID)


@pytest.mark.parametrize("transactional_id", (ID, "unknown"))
def test_idle_and_unknown_ids_are_not_pending(transactional_id: str) -> None:
    assert not registry_of(metadata()).is_pending(transactional_id)


def test_rejected_transition_never_was() -> None:
    registry = registry_of(ONGOING)
    after = ONGOING.fenced(2).prepared(
        TransactionState.PREPARE_ABORT, client_version=2, next_producer_id=-1, now_ms=NOW
    )

    registry.begin([after])
    registry.undo([after])

    assert registry.get(ID) == ONGOING
    assert not registry.is_pending(ID)


def test_rejected_fence_of_version_1_stays_in_memory() -> None:
    registry = registry_of(ONGOING)
    after = ONGOING.fenced(1).prepared(
        TransactionState.PREPARE_ABORT, client_version=0, next_producer_id=-1, now_ms=NOW
    )

    registry.begin([after])
    registry.undo([after])

    assert registry.get(ID) == ONGOING._replace(producer_epoch=6, has_failed_epoch_fence=True)


def test_two_transitions_of_one_id_are_a_mistake() -> None:
    registry = registry_of(metadata())
    registry.begin([ONGOING])

    with pytest.raises(AssertionError):
        registry.begin([ONGOING])


def test_pending_transitions_are_forgotten() -> None:
    registry = registry_of(metadata())
    registry.begin([ONGOING])

    registry.forget_pending()

    assert not registry.is_pending(ID)
