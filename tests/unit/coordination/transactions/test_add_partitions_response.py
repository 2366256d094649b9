"""Requests and responses of AddPartitionsToTxn in both forms."""

import pytest

from cordwood.coordination.transactions.add_partitions import TransactionPartitions
from cordwood.coordination.transactions.add_partitions_response import (
    partitions_of,
    rejected_partitions,
    response_of,
    result_of,
    transactions_of,
)
from cordwood.core.errors import (
    KafkaError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tests.unit.coordination.transaction_samples import BILLS, ID, ORDERS, codes_of, tp

TOPICS = [
    AddPartitionsToTxnTopic(name="orders", partitions=[0, 2]),
    AddPartitionsToTxnTopic(name="bills", partitions=[1]),
]


def transaction(transactional_id: str = ID) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=transactional_id, producer_id=7, producer_epoch=5, topics=TOPICS
    )


@pytest.mark.parametrize("version", (0, 3))
def test_request_of_a_client_is_one_transaction(version: int) -> None:
    request = AddPartitionsToTxnRequest(
        transactional_id=ID, producer_id=7, producer_epoch=5, topics=TOPICS
    )

    assert transactions_of(request, version) == [transaction()]


@pytest.mark.parametrize(("version", "level"), ((3, 0), (4, 2), (5, 2)))
def test_partitions_follow_the_rules_of_the_version(version: int, level: int) -> None:
    found = partitions_of(transaction(), version)

    assert found == TransactionPartitions(
        ID, 7, 5, frozenset({ORDERS, tp("orders-2"), BILLS}), level
    )


@pytest.mark.parametrize("version", (3, 4))
def test_response_has_the_order_of_the_request(version: int) -> None:
    result = result_of(transaction(), {BILLS: 120})

    assert codes_of(response_of([result], version)) == [0, 0, 120]


@pytest.mark.parametrize("version", (3, 5))
def test_error_of_a_transaction_is_that_of_all_its_partitions(version: int) -> None:
    response = response_of([result_of(transaction(), 49)], version)

    assert codes_of(response) == [49, 49, 49]
    assert response.error_code == 0


def test_partitions_are_not_attempted_when_one_of_them_is_rejected() -> None:
    def error_of(partition: TopicPartition) -> KafkaError | None:
        if partition == ORDERS:
            return TopicAuthorizationFailedError("orders")
        return UnknownTopicOrPartitionError("bills") if partition == BILLS else None

    codes = rejected_partitions(transaction(), error_of)

    assert codes == {ORDERS: 29, BILLS: 3, tp("orders-2"): 55}


def test_no_partition_is_rejected_without_an_error() -> None:
    assert rejected_partitions(transaction(), lambda _: None) == {}
