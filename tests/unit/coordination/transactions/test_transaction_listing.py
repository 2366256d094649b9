"""Responses that describe and list transactions."""

import pytest

from cordwood.coordination.transactions.transaction_listing import (
    ListFilters,
    describe_error,
    describe_transaction,
    list_matching,
)
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.protocol.messages import describe_transactions, list_transactions
from cordwood.protocol.messages.list_transactions import ListTransactionsRequest
from tests.unit.coordination.transaction_samples import BILLS, ID, NOW, ORDERS, metadata, tp

ONGOING = metadata(TransactionState.ONGOING)
COMPLETE = metadata(TransactionState.COMPLETE_COMMIT)._replace(transactional_id="complete")
EMPTY = metadata(producer=(8, 0))._replace(transactional_id="empty")
ALL = (ONGOING, COMPLETE, EMPTY)


def listed(
    request: ListTransactionsRequest, transactions: tuple[TransactionMetadata, ...] = ALL
) -> list[str]:
    response = list_matching(transactions, ListFilters.of(request), now_ms=NOW)
    return [each.transactional_id for each in response.transaction_states]


def filters(**fields: object) -> ListTransactionsRequest:
    request = ListTransactionsRequest(state_filters=[], producer_id_filters=[])
    for name, value in fields.items():
        setattr(request, name, value)
    return request


# -- describe


@pytest.mark.parametrize(("transactional_id", "code"), (("", 42), ("unknown", 105)))
def test_unknown_id_is_described_by_its_error(transactional_id: str, code: int) -> None:
    found = describe_transaction(transactional_id, None)

    assert found == describe_error(transactional_id, code=code)
    assert (found.error_code, found.transaction_state, found.topics) == (code, "", [])


def test_dead_id_is_not_found() -> None:
    found = describe_transaction(ID, metadata()._replace(state=TransactionState.DEAD))

    assert found.error_code == 105


def test_transaction_is_described_with_its_topics() -> None:
    found = describe_transaction(
        ID, ONGOING._replace(partitions=frozenset({ORDERS, BILLS, tp("orders-2")}))
    )

    assert found == describe_transactions.TransactionState(
        error_code=0,
        transactional_id=ID,
        transaction_state="Ongoing",
        transaction_timeout_ms=60_000,
        transaction_start_time_ms=NOW - 2_000,
        producer_id=7,
        producer_epoch=5,
        topics=[
            describe_transactions.TopicData(topic="bills", partitions=[1]),
            describe_transactions.TopicData(topic="orders", partitions=[0, 2]),
        ],
    )


def test_complete_transaction_keeps_its_start_time() -> None:
    found = describe_transaction(ID, COMPLETE)

    assert (found.transaction_state, found.transaction_start_time_ms) == (
        "CompleteCommit",
        NOW - 2_000,
    )


# -- list


def test_list_without_filters_has_all_transactions() -> None:
    response = list_matching(ALL, ListFilters.of(filters()), now_ms=NOW)

    assert response.transaction_states[0] == list_transactions.TransactionState(
        transactional_id=ID, producer_id=7, transaction_state="Ongoing"
    )
    assert len(response.transaction_states) == 3


@pytest.mark.parametrize(
    ("states", "found"),
    (
        (["Ongoing"], [ID]),
        (["Ongoing", "Empty"], [ID, "empty"]),
        (["Ongoing", "Unknown"], [ID]),
        (["Unknown"], []),
        (["ongoing"], []),
        (["Dead"], []),
    ),
)
def test_list_has_the_states_of_the_filter(states: list[str], found: list[str]) -> None:
    assert listed(filters(state_filters=states)) == found


def test_list_returns_the_unknown_states_of_the_filter() -> None:
    request = filters(state_filters=["Ongoing", "ongoing", "Dead"])

    response = list_matching((), ListFilters.of(request), now_ms=NOW)

    assert response.unknown_state_filters == ["ongoing"]


def test_list_has_the_producers_of_the_filter() -> None:
    assert listed(filters(producer_id_filters=[8, 9])) == ["empty"]


@pytest.mark.parametrize(
    ("duration", "found"),
    ((-1, [ID, "empty"]), (0, [ID, "empty"]), (1_999, [ID, "empty"]), (2_000, ["empty"])),
)
def test_list_has_transactions_that_run_longer_than_the_filter(
    duration: int, found: list[str]
) -> None:
    # An id that never had a transaction has the start -1, as in Kafka.
    assert listed(filters(duration_filter=duration), (ONGOING, EMPTY)) == found


def test_list_has_the_ids_that_match_the_pattern() -> None:
    request = ListFilters.of(filters(), matches_id=lambda each: each.startswith("c"))

    response = list_matching(ALL, request, now_ms=NOW)

    assert [each.transactional_id for each in response.transaction_states] == ["complete"]


def test_dead_id_is_never_listed() -> None:
    assert listed(filters(), (ONGOING._replace(state=TransactionState.DEAD),)) == []
