"""Rules of InitProducerId for a transactional id (Kafka: `prepareInitProducerIdTransit`).

    the id is empty                              INVALID_REQUEST
    producer id without epoch, or the reverse    INVALID_REQUEST
    timeout outside of 1 to the maximum          INVALID_TRANSACTION_TIMEOUT
    a transition is pending, or Prepare*         CONCURRENT_TRANSACTIONS
    another producer id than the current one     PRODUCER_FENCED
    Ongoing                                      aborted by the broker, CONCURRENT_TRANSACTIONS
    no epoch is left                             new producer id, epoch 0
    no expected epoch                            epoch + 1
    expected is the current epoch                epoch + 1; the current one becomes the last epoch
    expected is the last epoch                   repeated request: the current epoch
    another expected epoch                       PRODUCER_FENCED

The previous producer id is accepted with an exhausted epoch: that producer may repeat the request
that replaced its id. Kafka fails with UNKNOWN_SERVER_ERROR if no epoch is left and another one than
the current is expected; here such a request follows the last three rows.
"""

from typing import NamedTuple

from cordwood.coordination.transactions.transaction_metadata import (
    TransactionMetadata,
    is_epoch_exhausted,
)
from cordwood.core.errors import (
    ConcurrentTransactionsError,
    InvalidRequestError,
    InvalidTransactionTimeoutError,
    ProducerFencedError,
)
from cordwood.core.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from cordwood.protocol.messages.init_producer_id import InitProducerIdRequest


class InitProducer(NamedTuple):
    """A valid request: the id, its timeout, and the producer that continues, if there is one."""

    transactional_id: str
    timeout_ms: int
    expected: tuple[int, int] | None


def read_init_request(request: InitProducerIdRequest, *, max_timeout_ms: int) -> InitProducer:
    """Check the request alone; raise a KafkaError if it is invalid."""
    if not request.transactional_id:
        raise InvalidRequestError("the transactional id is empty")
    producer = request.producer_id, request.producer_epoch
    is_expected = (producer[0] != NO_PRODUCER_ID, producer[1] != NO_PRODUCER_EPOCH)
    if any(is_expected) and not all(is_expected):
        raise InvalidRequestError(
            f"transactional id {request.transactional_id}: producer id {producer[0]} and epoch "
            f"{producer[1]} must be given together"
        )
    timeout_ms = request.transaction_timeout_ms
    if not 0 < timeout_ms <= max_timeout_ms:
        raise InvalidTransactionTimeoutError(
            f"transactional id {request.transactional_id}: the timeout is {timeout_ms} ms; "
            f"1 to {max_timeout_ms} ms are allowed"
        )
    return InitProducer(
        request.transactional_id, timeout_ms, producer if any(is_expected) else None
    )


def validate_init(
    metadata: TransactionMetadata | None, init: InitProducer, *, is_pending: bool
) -> None:
    """Raise a KafkaError unless the producer may begin now."""
    if is_pending:
        raise ConcurrentTransactionsError(f"{init.transactional_id}: a transition is pending")
    if metadata is None:
        return
    if init.expected is not None and not _is_producer_of(metadata, *init.expected):
        raise ProducerFencedError(
            f"{init.transactional_id}: producer id {init.expected[0]}; the current one is "
            f"{metadata.producer_id}"
        )
    if metadata.state.is_prepared:
        raise ConcurrentTransactionsError(f"{init.transactional_id}: the last transaction ends")


def prepare_init(
    metadata: TransactionMetadata | None,
    init: InitProducer,
    *,
    producer_id: int | None,
    now_ms: int,
) -> TransactionMetadata | None:
    """Return the metadata with the producer's new epoch; None if a producer id is needed first."""
    timeout_ms = init.timeout_ms
    if metadata is None:
        if producer_id is None:
            return None
        created = TransactionMetadata(init.transactional_id, producer_id, timeout_ms, now_ms)
        return created.with_next_epoch(timeout_ms, last_epoch=NO_PRODUCER_EPOCH, now_ms=now_ms)
    epoch = metadata.producer_epoch
    expected = None if init.expected is None else init.expected[1]
    if expected not in {None, epoch}:
        if expected == metadata.last_producer_epoch:
            return metadata.with_same_epoch(timeout_ms, now_ms=now_ms)
        raise ProducerFencedError(
            f"{init.transactional_id}: epoch {expected}; the current one is {epoch}"
        )
    last_epoch = NO_PRODUCER_EPOCH if expected is None else epoch
    if not metadata.is_epoch_exhausted:
        return metadata.with_next_epoch(timeout_ms, last_epoch=last_epoch, now_ms=now_ms)
    if producer_id is None:
        return None
    return metadata.with_producer_id(producer_id, timeout_ms, last_epoch=last_epoch, now_ms=now_ms)


def _is_producer_of(metadata: TransactionMetadata, producer_id: int, epoch: int) -> bool:
    return producer_id == metadata.producer_id or (
        producer_id == metadata.previous_producer_id and is_epoch_exhausted(epoch)
    )
