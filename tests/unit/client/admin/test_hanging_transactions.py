"""Open transactions that no coordinator will end."""

import pytest

from cordwood.client.admin.hanging_transactions import is_hanging, open_transactions
from cordwood.client.admin.transaction_types import ActiveProducer, TransactionDescription
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.types import TopicPartition

P0, P1 = partitions_of([("t", 0), ("t", 1)])


def active(*, start: int | None = 5, timestamp: int = 100) -> ActiveProducer:
    return ActiveProducer(
        producer_id=7,
        epoch=1,
        last_sequence=0,
        last_timestamp=timestamp,
        coordinator_epoch=None,
        transaction_start=start,
    )


def known(*partitions: TopicPartition, state: str = "Ongoing") -> TransactionDescription:
    return TransactionDescription(
        transactional_id="etl",
        coordinator=1,
        state=state,
        producer_id=7,
        epoch=1,
        timeout_ms=1000,
        start_ms=150,
        partitions=partitions,
    )


def test_only_old_open_transactions_are_candidates() -> None:
    producers = {P0: [active(), active(start=None)], P1: [active(timestamp=300)]}

    assert list(open_transactions(producers, older_than_ms=200)) == [(P0, active())]


@pytest.mark.parametrize(
    ("view", "is_found"),
    (
        (None, True),
        (known(state="CompleteAbort"), True),
        (known(P1), True),
        (known(P0), False),
        (known(P0, state="PrepareAbort"), False),
    ),
)
def test_transaction_hangs_without_its_coordinator(
    view: TransactionDescription | None, *, is_found: bool
) -> None:
    """The times of records and of the transaction have no part: two clocks made them."""
    assert is_hanging(P0, known=view) is is_found
