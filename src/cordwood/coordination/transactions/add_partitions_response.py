"""Requests and responses of AddPartitionsToTxn, which have two forms.

    v0-3   from clients: one transaction in the single fields
    v4-5   from brokers: many transactions, each to be added to or to be verified

The transactions of one request may have different coordinators; its handler divides it. A partition
that is unknown, or that the client may not write to, has its own error. Then the others of its
transaction are not attempted (`rejected_partitions`).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from cordwood.coordination.transactions.add_partitions import TransactionPartitions
from cordwood.coordination.transactions.transaction_log import partitions_of_topics
from cordwood.coordination.transactions.transaction_version import add_partitions_level
from cordwood.core.errors import KafkaError, OperationNotAttemptedError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

#: Error codes of partitions; a partition that is not in it has no error.
PartitionCodes = Mapping[TopicPartition, int]
_FIRST_OF_BROKERS: Final = 4


def transactions_of(
    request: AddPartitionsToTxnRequest, api_version: int
) -> list[AddPartitionsToTxnTransaction]:
    """Return the transactions of a request in the form of brokers."""
    if api_version >= _FIRST_OF_BROKERS:
        return request.transactions
    return [
        AddPartitionsToTxnTransaction(
            transactional_id=request.transactional_id,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            topics=request.topics,
        )
    ]


def count_partitions(request: AddPartitionsToTxnRequest, api_version: int) -> int:
    """Return the number of the partitions of a request, and of its topics."""
    transactions = transactions_of(request, api_version)
    return sum(1 + len(topic.partitions) for each in transactions for topic in each.topics)


def partitions_of(
    transaction: AddPartitionsToTxnTransaction, api_version: int
) -> TransactionPartitions:
    """Return the partitions of one transaction, with the level whose rules the request follows."""
    return TransactionPartitions(
        transaction.transactional_id,
        transaction.producer_id,
        transaction.producer_epoch,
        _flat(transaction.topics),
        add_partitions_level(api_version),
    )


def result_of(
    transaction: AddPartitionsToTxnTransaction, codes: PartitionCodes | int
) -> AddPartitionsToTxnResult:
    """Return the result of one transaction, from one code or from those of its partitions."""
    return AddPartitionsToTxnResult(
        transactional_id=transaction.transactional_id,
        topic_results=[
            AddPartitionsToTxnTopicResult(
                name=topic.name, results_by_partition=_results(topic, codes)
            )
            for topic in transaction.topics
        ],
    )


def without_results(transaction: AddPartitionsToTxnTransaction) -> AddPartitionsToTxnResult:
    """Return the result of one transaction without those of its partitions."""
    return AddPartitionsToTxnResult(transactional_id=transaction.transactional_id, topic_results=[])


def _results(
    topic: AddPartitionsToTxnTopic, codes: PartitionCodes | int
) -> list[AddPartitionsToTxnPartitionResult]:
    if isinstance(codes, int) or not codes:
        code = codes if isinstance(codes, int) else 0
        return [
            AddPartitionsToTxnPartitionResult(partition_index=each, partition_error_code=code)
            for each in topic.partitions
        ]
    return [
        AddPartitionsToTxnPartitionResult(
            partition_index=each,
            partition_error_code=codes.get(_partition(topic.name, each), 0),
        )
        for each in topic.partitions
    ]


def response_of(
    results: list[AddPartitionsToTxnResult], api_version: int
) -> AddPartitionsToTxnResponse:
    """Return the response in the form of the version."""
    if api_version >= _FIRST_OF_BROKERS:
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    (only,) = results
    return AddPartitionsToTxnResponse(results_by_topic=only.topic_results)


def rejected_partitions(
    transaction: AddPartitionsToTxnTransaction,
    error_of: Callable[[TopicPartition], KafkaError | None],
) -> PartitionCodes:
    """Return the codes of all partitions if `error_of` has an error for one; else an empty map."""
    partitions = _flat(transaction.topics)
    errors = {each: error for each in partitions if (error := error_of(each)) is not None}
    if not errors:
        return {}
    return {
        each: errors[each].code if each in errors else OperationNotAttemptedError.code
        for each in partitions
    }


def _flat(topics: Iterable[AddPartitionsToTxnTopic]) -> frozenset[TopicPartition]:
    return partitions_of_topics((topic.name, topic.partitions) for topic in topics)


def _partition(topic: str, partition: int) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(partition))
