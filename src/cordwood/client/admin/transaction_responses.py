"""Responses about transactions as values, and the remedies of their errors."""

from collections.abc import Mapping
from typing import Final

from cordwood.client.admin.transaction_types import ActiveProducer, TransactionDescription
from cordwood.client.network.response_errors import error_of
from cordwood.core.errors import (
    ClusterAuthorizationFailedError,
    InvalidProducerEpochError,
    InvalidProducerIdMappingError,
    InvalidTransactionTimeoutError,
    InvalidTxnStateError,
    KafkaError,
    ProducerFencedError,
    TransactionalIdNotFoundError,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.describe_producers import ProducerState
from cordwood.protocol.messages.describe_transactions import TransactionState

_FENCED: Final = (
    "a later producer with this id has fenced it, or its transaction timed out;"
    " describe_transactions shows the present state"
)
_REMEDIES: Final[Mapping[int, str]] = {
    InvalidProducerEpochError.code: _FENCED,
    ProducerFencedError.code: _FENCED,
    InvalidTxnStateError.code: "the transaction was ended the other way, timed out, or was never"
    " begun; describe_transactions shows the present state",
    InvalidProducerIdMappingError.code: "the transactional id has another producer id now, or has"
    " expired",
    TransactionalIdNotFoundError.code: "check the name; an unused id expires after"
    " transactional.id.expiration.ms",
    InvalidTransactionTimeoutError.code: "lower the transaction timeout, or raise"
    " transaction.max.timeout.ms of the brokers",
    ClusterAuthorizationFailedError.code: "aborting by marker needs ALTER on the cluster",
}


def transaction_error(code: int, *, subject: str, message: str | None = None) -> KafkaError:
    """Return the error of a code, with its remedy."""
    return error_of(code, subject=subject, message=message, remedy=_REMEDIES.get(code, ""))


def ensure_transaction_success(code: int, *, subject: str, message: str | None = None) -> None:
    """Raise the error of a code, with its remedy, unless the code means success."""
    if code:
        raise transaction_error(code, subject=subject, message=message)


def transaction_of(state: TransactionState, coordinator: int) -> TransactionDescription:
    """Return the description of a transactional id; its error is raised."""
    ensure_transaction_success(
        state.error_code, subject=f"transactional id {state.transactional_id!r}"
    )
    return TransactionDescription(
        transactional_id=state.transactional_id,
        coordinator=coordinator,
        state=state.transaction_state,
        producer_id=state.producer_id,
        epoch=state.producer_epoch,
        timeout_ms=state.transaction_timeout_ms,
        start_ms=None if state.transaction_start_time_ms < 0 else state.transaction_start_time_ms,
        partitions=tuple(
            TopicPartition(TopicName(topic.topic), PartitionId(number))
            for topic in state.topics
            for number in topic.partitions
        ),
    )


def producer_of(state: ProducerState) -> ActiveProducer:
    """Return the state of a producer."""
    start = state.current_txn_start_offset
    return ActiveProducer(
        producer_id=state.producer_id,
        epoch=state.producer_epoch,
        last_sequence=state.last_sequence,
        last_timestamp=state.last_timestamp,
        coordinator_epoch=None if state.coordinator_epoch < 0 else state.coordinator_epoch,
        transaction_start=None if start < 0 else start,
    )
