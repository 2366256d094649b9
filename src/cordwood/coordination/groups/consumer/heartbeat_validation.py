"""Checks of a heartbeat's fields, in Kafka's order (Kafka: `GroupCoordinatorService`)."""

from collections.abc import Sequence

from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
)
from cordwood.core.errors import InvalidRequestError, UnsupportedAssignorError
from cordwood.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


def validate_heartbeat(
    request: ConsumerGroupHeartbeatRequest, api_version: int, *, assignors: Sequence[str]
) -> None:
    """Raise the first error of a request that no group can accept."""
    epoch = request.member_epoch
    if api_version >= 1 or epoch > 0 or epoch == LEAVE_EPOCH:
        _require_text("MemberId", request.member_id)
    _require_text("GroupId", request.group_id)
    _require_text("InstanceId", request.instance_id)
    _require_text("RackId", request.rack_id)
    if epoch == 0:
        _validate_join(request)
    elif epoch == STATIC_LEAVE_EPOCH and request.instance_id is None:
        raise InvalidRequestError("InstanceId can't be null.")
    elif epoch < STATIC_LEAVE_EPOCH:
        raise InvalidRequestError("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise UnsupportedAssignorError(
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: "
            f"{', '.join(assignors)}."
        )


def _require_text(name: str, value: str | None) -> None:
    if value is not None and not value.strip():
        raise InvalidRequestError(f"{name} can't be empty.")


def _validate_join(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise InvalidRequestError("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise InvalidRequestError("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise InvalidRequestError(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
            "(re-)joining."
        )
