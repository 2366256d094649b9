"""Responses about transactions as values, and errors with remedies."""

import pytest

from cordwood.client.admin.transaction_responses import (
    ensure_transaction_success,
    producer_of,
    transaction_error,
    transaction_of,
)
from cordwood.core.errors import TransactionalIdNotFoundError
from cordwood.protocol.messages.describe_producers import ProducerState
from cordwood.protocol.messages.describe_transactions import TopicData, TransactionState


def state(code: int = 0, start: int = -1) -> TransactionState:
    return TransactionState(
        error_code=code,
        transactional_id="etl",
        transaction_state="Ongoing",
        transaction_timeout_ms=1000,
        transaction_start_time_ms=start,
        producer_id=7,
        producer_epoch=3,
        topics=[TopicData(topic="t", partitions=[0, 2])],
    )


def test_transaction_has_its_partitions_and_start() -> None:
    found = transaction_of(state(start=5), 1)

    assert (found.start_ms, found.partitions) == (5, (("t", 0), ("t", 2)))
    assert transaction_of(state(), 1).start_ms is None


def test_unknown_id_is_an_error() -> None:
    with pytest.raises(TransactionalIdNotFoundError, match=r"'etl': .*; check the name"):
        transaction_of(state(105), 1)


def test_missing_numbers_of_a_producer_are_none() -> None:
    shown = producer_of(ProducerState(producer_id=7, producer_epoch=1, coordinator_epoch=-1))

    assert (shown.coordinator_epoch, shown.transaction_start) == (None, None)


@pytest.mark.parametrize("code", (47, 48, 49, 90))
def test_error_names_its_remedy(code: int) -> None:
    assert "; " in str(transaction_error(code, subject="etl"))
    ensure_transaction_success(0, subject="etl")
