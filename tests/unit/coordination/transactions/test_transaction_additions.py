"""Additions of partitions, of offsets, and verifications of one shard."""

import pytest

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.outcome import Ticket
from cordwood.coordination.transactions.add_partitions_response import PartitionCodes
from cordwood.coordination.transactions.transaction_appends import LIGHT_PARTITIONS
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.core.errors import CoordinatorNotAvailableError
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tests.unit.coordination.transaction_samples import (
    BILLS,
    ID,
    NOW,
    ORDERS,
    TransactionHarness,
    codes_of,
    metadata,
    topics_of,
    tp,
)

PRODUCER = (7, 5)
UNAVAILABLE = CoordinatorNotAvailableError("too few replicas")


def harness_in(state: TransactionState = TransactionState.EMPTY) -> TransactionHarness:
    harness = TransactionHarness()
    harness.put(metadata(state))
    return harness


def transaction(
    transactional_id: str = ID,
    *,
    verify: bool = False,
    producer: tuple[int, int] = PRODUCER,
    topics: list[AddPartitionsToTxnTopic] | None = None,
) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=transactional_id,
        producer_id=producer[0],
        producer_epoch=producer[1],
        verify_only=verify,
        topics=topics or topics_of([ORDERS, BILLS]),
    )


@pytest.mark.parametrize(("version", "level"), ((0, 0), (3, 0), (4, 2), (5, 2)))
def test_partitions_are_added(version: int, level: int) -> None:
    harness = harness_in()

    assert harness.add(PRODUCER, ORDERS, BILLS, version=version) == [0, 0]

    assert harness.found().partitions == {ORDERS, BILLS}
    assert harness.found().client_version == level


def test_known_partitions_need_no_record() -> None:
    harness = harness_in(TransactionState.ONGOING)
    before = len(harness.log)

    assert harness.add(PRODUCER, ORDERS) == [0]

    assert len(harness.log) == before


@pytest.mark.parametrize(("version", "code"), ((0, 47), (1, 47), (2, 90), (5, 90)))
def test_fenced_producer_gets_the_error_of_its_version(version: int, code: int) -> None:
    assert harness_in().add((7, 4), ORDERS, BILLS, version=version) == [code, code]


def test_addition_is_pending_until_it_is_replayed() -> None:
    harness = harness_in()
    harness.shard.transactions.begin([metadata(TransactionState.ONGOING)])

    assert harness.add(PRODUCER, ORDERS) == [51]


@pytest.mark.parametrize("version", (3, 5))
def test_rejected_addition_is_undone(version: int) -> None:
    harness = harness_in()
    harness.rejection = UNAVAILABLE

    assert harness.add(PRODUCER, ORDERS, version=version) == [15]

    assert harness.found() == metadata()
    harness.rejection = None
    assert harness.add(PRODUCER, ORDERS, version=version) == [0]


@pytest.mark.parametrize("version", (4, 5))
def test_verification_has_a_code_for_each_partition(version: int) -> None:
    harness = harness_in(TransactionState.ONGOING)

    assert harness.add(PRODUCER, ORDERS, BILLS, version=version, verify=True) == [0, 120]

    assert harness.found().partitions == {ORDERS}


def test_verification_does_not_check_a_pending_transition() -> None:
    harness = harness_in(TransactionState.ONGOING)
    harness.shard.transactions.begin([harness.found()])

    assert harness.add(PRODUCER, ORDERS, verify=True) == [0]


@pytest.mark.parametrize("verify", (False, True))
def test_ending_transaction_is_concurrent(*, verify: bool) -> None:
    harness = harness_in(TransactionState.PREPARE_COMMIT)

    assert harness.add(PRODUCER, ORDERS, verify=verify) == [51]


def test_transactions_of_one_request_are_one_batch() -> None:
    harness = harness_in()
    harness.put(metadata()._replace(transactional_id="other"))
    request = AddPartitionsToTxnRequest(
        transactions=[
            transaction(),
            transaction("unknown"),
            transaction("other"),
            transaction(producer=(7, 4), verify=True),
        ]
    )

    response = harness.add_all(request, 5)

    assert codes_of(response) == [0, 0, 49, 49, 0, 0, 90, 90]
    assert harness.found("other").partitions == {ORDERS, BILLS}


def test_rejected_batch_fails_only_the_transactions_in_it() -> None:
    harness = harness_in()
    harness.rejection = UNAVAILABLE
    request = AddPartitionsToTxnRequest(transactions=[transaction(), transaction("unknown")])

    assert codes_of(harness.add_all(request, 5)) == [15, 15, 49, 49]


def test_second_addition_of_one_id_in_a_request_is_concurrent() -> None:
    request = AddPartitionsToTxnRequest(transactions=[transaction(), transaction()])

    assert codes_of(harness_in().add_all(request, 5)) == [0, 0, 51, 51]


# -- offsets


def test_offsets_add_the_partition_of_their_group() -> None:
    harness = harness_in()

    assert harness.add_offsets(PRODUCER, group="my-group") == 0

    assert harness.found().partitions == {tp("__consumer_offsets-12")}
    assert harness.found().client_version == 0


def test_known_group_needs_no_record() -> None:
    harness = harness_in()
    harness.add_offsets(PRODUCER)
    before = len(harness.log)

    assert harness.add_offsets(PRODUCER) == 0

    assert len(harness.log) == before


@pytest.mark.parametrize(("version", "code"), ((0, 47), (1, 47), (2, 90), (4, 90)))
def test_fenced_producer_adds_no_offsets(version: int, code: int) -> None:
    assert harness_in().add_offsets((7, 4), version=version) == code


def test_rejected_offsets_are_undone() -> None:
    harness = harness_in()
    harness.rejection = UNAVAILABLE

    assert harness.add_offsets(PRODUCER) == 15

    assert harness.found() == metadata()


def codes_later(
    harness: TransactionHarness, *transactions: AddPartitionsToTxnTransaction
) -> object:
    """Add with `later`; return the codes that it got, after results without partitions."""
    request = AddPartitionsToTxnRequest(transactions=[*transactions])
    later = dict[int, PartitionCodes | int]()
    found = harness.answer(
        lambda ticket: harness.shard.add_partitions(
            request, ClientContext(5), ticket=ticket, now_ms=harness.now_ms, later=later
        )
    )
    assert isinstance(found, AddPartitionsToTxnResponse)
    assert all(each.topic_results == [] for each in found.results_by_transaction)
    return later


def test_codes_are_given_in_place_of_49_000_results() -> None:
    harness = harness_in()
    overtaking = transaction()

    assert codes_later(harness, transaction(), overtaking) == {0: {}, 1: 51}
    assert harness.found().partitions == {ORDERS, BILLS}


def test_code_of_a_rejected_addition_replaces_that_of_its_decision() -> None:
    harness = harness_in()
    harness.rejection = UNAVAILABLE

    assert codes_later(harness, transaction()) == {0: 15}


def test_codes_of_a_verification_are_those_of_missing_partitions() -> None:
    harness = harness_in()
    harness.add(PRODUCER, ORDERS)

    assert codes_later(harness, transaction(verify=True)) == {0: {BILLS: 120}}


def test_many_partitions_are_added_and_verified_in_a_long_event() -> None:
    harness = harness_in()
    many = [tp(f"orders-{number}") for number in range(LIGHT_PARTITIONS)]
    request = AddPartitionsToTxnRequest(
        transactions=[transaction(topics=topics_of(many)), transaction(verify=True)]
    )

    outcome = harness.shard.add_partitions(request, ClientContext(5), ticket=Ticket(1), now_ms=NOW)
    before = ([*outcome.records], [*outcome.answers], harness.shard.transactions.is_pending(ID))
    outcome.completed()

    assert before == ([], [], False)
    assert len(outcome.records) == 1
    assert harness.shard.transactions.is_pending(ID)
