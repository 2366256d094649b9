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

#: Errors after which every client finds its coordinator and sends its request again.
_RETRIABLE: Final = frozenset(
    each.code
    for each in (CoordinatorLoadInProgressError, CoordinatorNotAvailableError, NotCoordinatorError)
)


def coordinator_error(error: KafkaError) -> KafkaError:
    """Return the error for clients; an error that has no other form is returned unchanged."""
    kind = _ERRORS.get(error.code)
    return error if kind is None else kind(str(error))


def reload_error(error: KafkaError) -> KafkaError:
    """Return the error of requests that wait in a shard which another error ends.

    The error is not theirs: the shard is loaded again, and then serves them.
    """
    if error.code in _RETRIABLE:
        return error
    return CoordinatorNotAvailableError(f"the coordinator is loaded again: {error}")
