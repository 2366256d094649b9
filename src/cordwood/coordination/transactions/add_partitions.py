"""Rules of AddPartitionsToTxn, AddOffsetsToTxn and of verification, in the order of Kafka's checks.

                                             add                          verify
    the transactional id is empty            INVALID_REQUEST              INVALID_REQUEST
    the transactional id is unknown          INVALID_PRODUCER_ID_MAPPING  the same
    a transition is pending                  CONCURRENT_TRANSACTIONS      not checked
    another producer id                      INVALID_PRODUCER_ID_MAPPING  the same
    another epoch                            PRODUCER_FENCED              the same
    Prepare*                                 CONCURRENT_TRANSACTIONS      the same
    Ongoing, with all of the partitions      success, without a record    success
    a partition is missing                   record of Ongoing            TRANSACTION_ABORTABLE

A pending transition is checked first, because the end of a transaction may replace the producer id:
the client has the new one before the record of Complete is written.
"""

from collections.abc import Iterable
from typing import NamedTuple

from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.core.errors import (
    ConcurrentTransactionsError,
    InvalidProducerIdMappingError,
    InvalidRequestError,
    ProducerFencedError,
)
from cordwood.core.types import TopicPartition


class TransactionPartitions(NamedTuple):
    """Partitions that a producer writes to in its transaction."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]
    #: The level of `transaction.version` whose rules the request follows.
    client_version: int = 0


def prepare_add(
    metadata: TransactionMetadata | None,
    added: TransactionPartitions,
    *,
    is_pending: bool,
    now_ms: int,
) -> TransactionMetadata | None:
    """Return the metadata with the partitions; None if the transaction has them already."""
    found = _of_producer(metadata, added, is_pending=is_pending)
    if found.state is TransactionState.ONGOING and added.partitions <= found.partitions:
        return None
    return found.with_partitions(
        added.partitions, client_version=added.client_version, now_ms=now_ms
    )


def missing_partitions(
    metadata: TransactionMetadata | None, verified: TransactionPartitions
) -> Iterable[TopicPartition]:
    """Return those partitions that are not in the producer's transaction."""
    return verified.partitions - _of_producer(metadata, verified, is_pending=False).partitions


def _of_producer(
    metadata: TransactionMetadata | None, request: TransactionPartitions, *, is_pending: bool
) -> TransactionMetadata:
    """Return the metadata if the request is of its producer, and the transaction may change."""
    subject = f"transactional id {request.transactional_id}"
    if not request.transactional_id:
        raise InvalidRequestError("the transactional id is empty")
    if metadata is None:
        raise InvalidProducerIdMappingError(f"{subject} is unknown")
    if is_pending:
        raise ConcurrentTransactionsError(f"{subject}: a transition is pending")
    if request.producer_id != metadata.producer_id:
        raise InvalidProducerIdMappingError(
            f"{subject}: producer id {request.producer_id}; the current one is "
            f"{metadata.producer_id}"
        )
    if request.producer_epoch != metadata.producer_epoch:
        raise ProducerFencedError(
            f"{subject}: epoch {request.producer_epoch}; the current one is "
            f"{metadata.producer_epoch}"
        )
    if metadata.state.is_prepared:
        raise ConcurrentTransactionsError(f"{subject}: the transaction ends")
    return metadata
