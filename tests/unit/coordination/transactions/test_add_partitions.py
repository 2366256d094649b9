"""Rules of AddPartitionsToTxn and of verification, row by row."""

import pytest

from cordwood.coordination.transactions.add_partitions import (
    TransactionPartitions,
    missing_partitions,
    prepare_add,
)
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.core.errors import (
    ConcurrentTransactionsError,
    InvalidProducerIdMappingError,
    InvalidRequestError,
    KafkaError,
    ProducerFencedError,
)
from cordwood.core.types import TopicPartition
from tests.unit.coordination.transaction_samples import BILLS, ID, NOW, ORDERS, metadata

ONGOING = metadata(TransactionState.ONGOING)
PREPARED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
IDLE = (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


def of(
    *partitions: TopicPartition, producer: tuple[int, int] = (7, 5), transactional_id: str = ID
) -> TransactionPartitions:
    return TransactionPartitions(transactional_id, *producer, frozenset(partitions), 2)


WRONG = (
    (of(ORDERS, producer=(8, 5)), InvalidProducerIdMappingError),
    (of(ORDERS, producer=(8, 99)), InvalidProducerIdMappingError),
    (of(ORDERS, producer=(7, 4)), ProducerFencedError),
    (of(ORDERS, producer=(7, 6)), ProducerFencedError),
    (of(ORDERS, transactional_id=""), InvalidRequestError),
)


@pytest.mark.parametrize(("added", "error"), WRONG)
def test_addition_is_rejected(added: TransactionPartitions, error: type[KafkaError]) -> None:
    with pytest.raises(error):
        prepare_add(ONGOING, added, is_pending=False, now_ms=NOW)


@pytest.mark.parametrize(("verified", "error"), WRONG)
def test_verification_is_rejected(verified: TransactionPartitions, error: type[KafkaError]) -> None:
    with pytest.raises(error):
        missing_partitions(ONGOING, verified)


def test_unknown_id_has_no_producer() -> None:
    with pytest.raises(InvalidProducerIdMappingError):
        prepare_add(None, of(ORDERS), is_pending=False, now_ms=NOW)
    with pytest.raises(InvalidProducerIdMappingError):
        missing_partitions(None, of(ORDERS))


@pytest.mark.parametrize("state", PREPARED)
def test_ending_transaction_gets_no_partition(state: TransactionState) -> None:
    with pytest.raises(ConcurrentTransactionsError):
        prepare_add(metadata(state), of(ORDERS), is_pending=False, now_ms=NOW)
    with pytest.raises(ConcurrentTransactionsError):
        missing_partitions(metadata(state), of(ORDERS))


@pytest.mark.parametrize("producer", ((7, 5), (8, 0)), ids=("current", "next"))
def test_pending_transition_is_checked_before_the_producer(producer: tuple[int, int]) -> None:
    with pytest.raises(ConcurrentTransactionsError):
        prepare_add(ONGOING, of(ORDERS, producer=producer), is_pending=True, now_ms=NOW)


@pytest.mark.parametrize("state", PREPARED)
def test_other_producer_of_an_ending_transaction_is_fenced_first(state: TransactionState) -> None:
    with pytest.raises(ProducerFencedError):
        missing_partitions(metadata(state), of(ORDERS, producer=(7, 4)))


def test_known_partitions_need_no_record() -> None:
    assert prepare_add(ONGOING, of(ORDERS), is_pending=False, now_ms=NOW) is None


def test_new_partition_is_added_to_the_others() -> None:
    after = prepare_add(ONGOING, of(BILLS), is_pending=False, now_ms=NOW)

    assert after is not None
    assert after.partitions == {ORDERS, BILLS}
    assert after.client_version == 2


@pytest.mark.parametrize("state", IDLE)
def test_idle_id_begins_a_transaction(state: TransactionState) -> None:
    after = prepare_add(metadata(state), of(ORDERS), is_pending=False, now_ms=NOW)

    assert after is not None
    assert (after.state, after.start_ms) == (TransactionState.ONGOING, NOW)


def test_verification_returns_the_missing_partitions() -> None:
    assert missing_partitions(ONGOING, of(ORDERS, BILLS)) == {BILLS}
    assert missing_partitions(ONGOING, of(ORDERS)) == frozenset()


@pytest.mark.parametrize("state", IDLE)
def test_idle_id_has_no_partitions_to_verify(state: TransactionState) -> None:
    assert missing_partitions(metadata(state), of(ORDERS)) == {ORDERS}
