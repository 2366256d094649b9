"""Errors of an append to an internal topic, as clients of the coordinator get them.

Kafka: `GroupCoordinatorService.handleOperationException`, `TransactionStateManager`.
"""

from types import MappingProxyType
from typing import Final

from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    FencedLeaderEpochError,
    InvalidFetchSizeError,
    KafkaError,
    KafkaStorageError,
    MessageTooLargeError,
    NetworkError,
    NotCoordinatorError,
    NotEnoughReplicasAfterAppendError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    RecordListTooLargeError,
    RequestTimedOutError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)

_ERRORS: Final = MappingProxyType(
    {
        NetworkError.code: CoordinatorLoadInProgressError,
        UnknownTopicOrPartitionError.code: CoordinatorNotAvailableError,
        NotEnoughReplicasError.code: CoordinatorNotAvailableError,
        NotEnoughReplicasAfterAppendError.code: CoordinatorNotAvailableError,
        RequestTimedOutError.code: CoordinatorNotAvailableError,
        NotLeaderOrFollowerError.code: NotCoordinatorError,
        FencedLeaderEpochError.code: NotCoordinatorError,
        KafkaStorageError.code: NotCoordinatorError,
        MessageTooLargeError.code: UnknownServerError,
        RecordListTooLargeError.code: UnknownServerError,
        InvalidFetchSizeError.code: UnknownServerError,
    }
)


def coordinator_error(error: KafkaError) -> KafkaError:
    """Return the error for clients; an error that has no other form is returned unchanged."""
    kind = _ERRORS.get(error.code)
    return error if kind is None else kind(str(error))
