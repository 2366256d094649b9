"""Requests to the controller, answered by an embedded broker (Kafka: `ReplicationControlManager`).

Each partition has one replica, which leads it, or has no leader while its log is offline. So no
election and no reassignment changes anything. Errors and messages are those of Kafka 4.3.
"""

from collections.abc import Sequence
from typing import Final

from cordwood.broker.metadata.metadata_image import NO_LEADER, ClusterImage, PartitionImage
from cordwood.broker.topics.topic_validation import check_replicas
from cordwood.core.errors import (
    ElectionNotNeededError,
    EligibleLeadersNotAvailableError,
    InvalidReplicationFactorError,
    InvalidRequestError,
    KafkaError,
    NoReassignmentInProgressError,
    PreferredLeaderNotAvailableError,
    UnknownTopicOrPartitionError,
    error_message_of,
)
from cordwood.protocol.messages.elect_leaders import PartitionResult

_PREFERRED: Final = 0
_UNCLEAN: Final = 1


def check_election_type(election_type: int) -> None:
    """Raise InvalidRequestError for an unknown election type."""
    if election_type not in {_PREFERRED, _UNCLEAN}:
        raise InvalidRequestError(f"Unknown election type {election_type}")


def election_result(
    image: ClusterImage, topic: str, *, index: int, election_type: int
) -> PartitionResult:
    """Return the result of an election for a partition."""
    error = _election_error(image, topic, index=index, election_type=election_type)
    return PartitionResult(
        partition_id=index, error_code=error.code, error_message=error_message_of(error)
    )


def reassignment_error(
    image: ClusterImage,
    topic: str,
    *,
    index: int,
    target: Sequence[int] | None,
    may_change_factor: bool,
) -> KafkaError | None:
    """Return the error of a reassignment; None if the partition has these replicas already.

    The target None is a cancellation.
    """
    try:
        _check_reassignment(image, topic, index=index, target=target, may_change=may_change_factor)
    except KafkaError as error:
        return error.with_traceback(None)  # its frame refers to the error
    return None


def _election_error(
    image: ClusterImage, topic: str, *, index: int, election_type: int
) -> KafkaError:
    if topic not in image.topics:
        return UnknownTopicOrPartitionError(f"No such topic as {topic}")
    partition = _partition(image, topic, index)
    if partition is None:
        return UnknownTopicOrPartitionError(f"No such partition as {topic}-{index}")
    if partition.leader != NO_LEADER:
        return ElectionNotNeededError("Leader election not needed for topic partition.")
    if election_type == _PREFERRED:
        return PreferredLeaderNotAvailableError("The preferred leader was not available.")
    return EligibleLeadersNotAvailableError("Eligible topic partition leaders are not available.")


def _check_reassignment(
    image: ClusterImage, topic: str, *, index: int, target: Sequence[int] | None, may_change: bool
) -> None:
    if topic not in image.topics:
        raise UnknownTopicOrPartitionError(f"Unable to find a topic named {topic}.")
    partition = _partition(image, topic, index)
    if partition is None:
        raise UnknownTopicOrPartitionError(f"Unable to find partition {topic}:{index}.")
    if target is None:
        raise NoReassignmentInProgressError  # without a message in Kafka
    check_replicas((*target,), image, expected=len(target))
    if not may_change and len(target) != len(partition.replicas):
        raise InvalidReplicationFactorError(
            f"The replication factor is changed from {len(partition.replicas)} to {len(target)}"
        )


def _partition(image: ClusterImage, topic: str, index: int) -> PartitionImage | None:
    partitions = image.topics[topic].partitions
    return partitions[index] if 0 <= index < len(partitions) else None
