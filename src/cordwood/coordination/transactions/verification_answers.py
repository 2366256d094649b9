"""Answers of a transaction coordinator, as a partition's leader turns them into its own.

Kafka: `AddPartitionsToTxnManager`, `ReplicaManager.handleProduceAppend`, `TransactionVersion`. A
leader adds or verifies a partition before the first batch of a transaction.

    operation   Produce   TxnOffsetCommit
    DEFAULT     up to 10  up to 3          verified; clients do not know TRANSACTION_ABORTABLE
    GENERIC     11        4                verified
    ADD         from 12   from 5           added by the leader (transactions v2)

    coordinator                            verification             Produce
    PRODUCER_FENCED                        INVALID_PRODUCER_EPOCH   the same
    TRANSACTION_ABORTABLE                  INVALID_TXN_STATE for    the same
                                           DEFAULT
    CLUSTER_AUTHORIZATION_FAILED           INVALID_TXN_STATE        the same
    UNSUPPORTED_VERSION                    success: not verified    -
    NETWORK_EXCEPTION, COORDINATOR_*,      the same                 NOT_ENOUGH_REPLICAS
    NOT_COORDINATOR
    CONCURRENT_TRANSACTIONS                retried for a time       the same for ADD, else
                                                                    NOT_ENOUGH_REPLICAS

Old clients retry NOT_ENOUGH_REPLICAS, and treat an unknown error of a produce request as fatal.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final, Self

from cordwood.core.errors import (
    ClusterAuthorizationFailedError,
    ConcurrentTransactionsError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    InvalidProducerEpochError,
    InvalidTxnStateError,
    KafkaError,
    KafkaStorageError,
    NetworkError,
    NotCoordinatorError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    ProducerFencedError,
    RequestTimedOutError,
    TransactionAbortableError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)

_ErrorKinds = Mapping[int, type[KafkaError]]

_VERIFICATION: Final[_ErrorKinds] = MappingProxyType(
    {
        ProducerFencedError.code: InvalidProducerEpochError,
        ClusterAuthorizationFailedError.code: InvalidTxnStateError,
    }
)
_PRODUCE: Final[_ErrorKinds] = MappingProxyType(
    {
        NetworkError.code: NotEnoughReplicasError,
        CoordinatorLoadInProgressError.code: NotEnoughReplicasError,
        CoordinatorNotAvailableError.code: NotEnoughReplicasError,
        NotCoordinatorError.code: NotEnoughReplicasError,
    }
)
_OFFSET_COMMIT: Final[_ErrorKinds] = MappingProxyType(
    {
        NetworkError.code: CoordinatorLoadInProgressError,
        UnknownTopicOrPartitionError.code: CoordinatorNotAvailableError,
        NotEnoughReplicasError.code: CoordinatorNotAvailableError,
        RequestTimedOutError.code: CoordinatorNotAvailableError,
        NotLeaderOrFollowerError.code: NotCoordinatorError,
        KafkaStorageError.code: NotCoordinatorError,
    }
)


class VerifiedOperation(Enum):
    """A leader's request to the coordinator (Kafka: `TransactionSupportedOperation`)."""

    DEFAULT = "verify, for clients without TRANSACTION_ABORTABLE"
    GENERIC = "verify"
    ADD = "add"

    @classmethod
    def of_produce(cls, api_version: int) -> Self:
        """Return the operation of a version of Produce."""
        return cls._from(api_version, generic=11)

    @classmethod
    def of_offset_commit(cls, api_version: int) -> Self:
        """Return the operation of a version of TxnOffsetCommit."""
        return cls._from(api_version, generic=4)

    @classmethod
    def _from(cls, api_version: int, *, generic: int) -> Self:
        if api_version > generic:
            return cls(cls.ADD)
        return cls(cls.GENERIC if api_version == generic else cls.DEFAULT)

    @property
    def is_addition(self) -> bool:
        """Whether the partition is added; otherwise it must be in the transaction already."""
        return self is VerifiedOperation.ADD


def verification_error(error: KafkaError, operation: VerifiedOperation) -> KafkaError | None:
    """Return the error of a partition after the coordinator's answer; None without one."""
    if isinstance(error, UnsupportedVersionError):
        return None
    is_default = operation is VerifiedOperation.DEFAULT
    if is_default and isinstance(error, TransactionAbortableError):
        return InvalidTxnStateError(str(error))
    return _mapped(error, _VERIFICATION)


def is_retried(error: KafkaError, *, waited_ms: float, longest_ms: int) -> bool:
    """Return whether the leader sends its request again after a short time."""
    return isinstance(error, ConcurrentTransactionsError) and waited_ms < longest_ms


def produce_error(error: KafkaError, operation: VerifiedOperation) -> KafkaError:
    """Return the error of a partition in a Produce response, from that of its verification."""
    if isinstance(error, ConcurrentTransactionsError) and not operation.is_addition:
        return NotEnoughReplicasError(str(error))
    return _mapped(error, _PRODUCE)


def offset_commit_error(error: KafkaError) -> KafkaError:
    """Return the error of a TxnOffsetCommit response, from that of its verification."""
    return _mapped(error, _OFFSET_COMMIT)


def _mapped(error: KafkaError, kinds: _ErrorKinds) -> KafkaError:
    kind = kinds.get(error.code)
    return error if kind is None else kind(str(error))
