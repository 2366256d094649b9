"""Rules of EndTxn by version of transactions (Kafka: `TransactionCoordinator.endTransaction`).

Versions 0 and 1 (EndTxn up to v4): another producer id INVALID_PRODUCER_ID_MAPPING, another epoch
PRODUCER_FENCED, a pending transition CONCURRENT_TRANSACTIONS; then the table `_V1`.

Version 2 (EndTxn v5) raises the epoch, so a repeated request has an epoch that is one too low. If
the epoch of the request was the last one, the repeated request has the previous producer id, and
the current epoch is 0. A pending transition is checked first, then the producer id, then the epoch:

    Ongoing, Empty   the current epoch
    Prepare*         a repeated request
    Complete*        a repeated request, or the current epoch
    otherwise        PRODUCER_FENCED

Then the table `_V2` applies. An abort of an id without a transaction is legal there: the client may
not know whether one of its batches began it.

A broker ends transactions that time out, and those whose id gets another producer. It fences the
producer and aborts; the version of the cluster applies.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from cordwood.coordination.ports import TransactionMarker
from cordwood.coordination.transactions.transaction_metadata import (
    LAST_CLIENT_EPOCH,
    TransactionMetadata,
)
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.coordination.transactions.transaction_version import supports_epoch_bump
from cordwood.core.errors import (
    ConcurrentTransactionsError,
    InvalidProducerIdMappingError,
    InvalidTxnStateError,
    ProducerFencedError,
)
from cordwood.core.types import NO_PRODUCER_ID


class TransactionEnd(NamedTuple):
    """The end of a transaction, as its client requests it."""

    producer_id: int
    producer_epoch: int
    is_commit: bool
    client_version: int

    @property
    def prepared_state(self) -> TransactionState:
        if self.is_commit:
            return TransactionState.PREPARE_COMMIT
        return TransactionState.PREPARE_ABORT


class EndStep(Enum):
    """The result of a valid request; the other two are errors."""

    PREPARE = "write a Prepare record"
    REPEATED = "answer with the current producer"
    CONCURRENT = "CONCURRENT_TRANSACTIONS"
    INVALID = "INVALID_TXN_STATE"


_Steps: TypeAlias = tuple[EndStep, EndStep]

#: Commit and abort by state.
_V1: Final[Mapping[TransactionState, _Steps]] = MappingProxyType(
    {
        TransactionState.EMPTY: (EndStep.INVALID, EndStep.INVALID),
        TransactionState.ONGOING: (EndStep.PREPARE, EndStep.PREPARE),
        TransactionState.PREPARE_COMMIT: (EndStep.CONCURRENT, EndStep.INVALID),
        TransactionState.PREPARE_ABORT: (EndStep.INVALID, EndStep.CONCURRENT),
        TransactionState.COMPLETE_COMMIT: (EndStep.REPEATED, EndStep.INVALID),
        TransactionState.COMPLETE_ABORT: (EndStep.INVALID, EndStep.REPEATED),
    }
)
#: Commit and abort by state, for requests that are not repeated ones.
_V2: Final[Mapping[TransactionState, _Steps]] = MappingProxyType(
    {
        TransactionState.EMPTY: (EndStep.INVALID, EndStep.PREPARE),
        TransactionState.ONGOING: (EndStep.PREPARE, EndStep.PREPARE),
        TransactionState.COMPLETE_COMMIT: (EndStep.INVALID, EndStep.PREPARE),
        TransactionState.COMPLETE_ABORT: (EndStep.INVALID, EndStep.PREPARE),
    }
)
#: Repeated requests of version 2 find the states after the end, which are those of version 1.
_V2_REPEATED: Final = _V1


def decide_end(
    metadata: TransactionMetadata | None, end: TransactionEnd, *, is_pending: bool
) -> EndStep:
    """Return whether the end is to be prepared or is a repeated one; raise a KafkaError else."""
    if metadata is None:
        raise InvalidProducerIdMappingError("the transactional id is unknown")
    decide = _decide_v2 if supports_epoch_bump(end.client_version) else _decide_v1
    step = decide(metadata, end, is_pending=is_pending)
    subject = f"transactional id {metadata.transactional_id}"
    if step is EndStep.CONCURRENT:
        raise ConcurrentTransactionsError(f"{subject}: the transaction ends")
    if step is EndStep.INVALID:
        raise InvalidTxnStateError(
            f"{subject}: {'commit' if end.is_commit else 'abort'} in the state "
            f"{metadata.state.kafka_name}"
        )
    return step


def prepare_end(
    metadata: TransactionMetadata, end: TransactionEnd, *, producer_id: int | None, now_ms: int
) -> TransactionMetadata | None:
    """Return the metadata of the decided end; None if a producer id is needed first."""
    if _needs_producer_id(metadata, end.client_version) and producer_id is None:
        return None
    return metadata.prepared(
        end.prepared_state,
        client_version=end.client_version,
        next_producer_id=_next_producer_id(metadata, end.client_version, producer_id),
        now_ms=now_ms,
    )


def prepare_fenced_abort(
    metadata: TransactionMetadata, *, level: int, producer_id: int | None, now_ms: int
) -> TransactionMetadata | None:
    """Fence the producer of an ongoing transaction, and abort; None if an id is needed first.

    `level` is the cluster's `transaction.version`.
    """
    if _needs_producer_id(metadata, level) and producer_id is None:
        return None
    return metadata.fenced(level).prepared(
        TransactionState.PREPARE_ABORT,
        client_version=level if supports_epoch_bump(level) else 0,
        next_producer_id=_next_producer_id(metadata, level, producer_id),
        now_ms=now_ms,
    )


def marker_of(metadata: TransactionMetadata, *, coordinator_epoch: int) -> TransactionMarker:
    """Return the marker of a transaction whose end is decided."""
    assert metadata.state.is_prepared, metadata
    return TransactionMarker(
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        coordinator_epoch=coordinator_epoch,
        is_commit=metadata.state is TransactionState.PREPARE_COMMIT,
        partitions=metadata.partitions,
        transaction_version=metadata.client_version,
    )


def _decide_v1(metadata: TransactionMetadata, end: TransactionEnd, *, is_pending: bool) -> EndStep:
    if end.producer_id != metadata.producer_id:
        raise _other_producer(metadata, end)
    if end.producer_epoch != metadata.producer_epoch:
        raise _other_epoch(metadata, end)
    if is_pending:
        raise _pending(metadata)
    return _V1[metadata.state][not end.is_commit]


def _decide_v2(metadata: TransactionMetadata, end: TransactionEnd, *, is_pending: bool) -> EndStep:
    if is_pending:
        raise _pending(metadata)
    is_overflow_repeated = (
        end.producer_id == metadata.previous_producer_id
        and end.producer_epoch == LAST_CLIENT_EPOCH
        and metadata.producer_epoch == 0
    )
    if end.producer_id != metadata.producer_id and not is_overflow_repeated:
        raise _other_producer(metadata, end)
    is_repeated = is_overflow_repeated or metadata.producer_epoch == end.producer_epoch + 1
    is_current = metadata.producer_epoch == end.producer_epoch
    if is_repeated and metadata.state in _V2_REPEATED.keys() - _UNREPEATED:
        return _V2_REPEATED[metadata.state][not end.is_commit]
    if is_current and metadata.state in _V2:
        return _V2[metadata.state][not end.is_commit]
    raise _other_epoch(metadata, end)


_UNREPEATED: Final = frozenset({TransactionState.EMPTY, TransactionState.ONGOING})


def _needs_producer_id(metadata: TransactionMetadata, version: int) -> bool:
    return supports_epoch_bump(version) and metadata.is_epoch_exhausted


def _next_producer_id(metadata: TransactionMetadata, version: int, producer_id: int | None) -> int:
    """Return the allocated id, unless it is not needed: another event may have come in between."""
    if producer_id is None or not _needs_producer_id(metadata, version):
        return NO_PRODUCER_ID
    return producer_id


def _pending(metadata: TransactionMetadata) -> ConcurrentTransactionsError:
    return ConcurrentTransactionsError(
        f"transactional id {metadata.transactional_id}: a transition is pending"
    )


def _other_producer(
    metadata: TransactionMetadata, end: TransactionEnd
) -> InvalidProducerIdMappingError:
    return InvalidProducerIdMappingError(
        f"transactional id {metadata.transactional_id}: producer id {end.producer_id}; the current "
        f"one is {metadata.producer_id}"
    )


def _other_epoch(metadata: TransactionMetadata, end: TransactionEnd) -> ProducerFencedError:
    return ProducerFencedError(
        f"transactional id {metadata.transactional_id}: epoch {end.producer_epoch}; the current "
        f"one is {metadata.producer_epoch}"
    )
