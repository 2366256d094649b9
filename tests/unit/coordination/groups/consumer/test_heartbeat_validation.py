"""The fields of a heartbeat are checked in Kafka's order."""

import pytest

from cordwood.coordination.groups.consumer.heartbeat_validation import validate_heartbeat
from cordwood.core.errors import KafkaError, UnsupportedAssignorError
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from tests.unit.coordination.groups.consumer.assignors.assignor_samples import topic_id

ASSIGNORS = ("uniform", "range")


def request(epoch: int = 0, **fields: object) -> ConsumerGroupHeartbeatRequest:
    """Return a valid request, but for the given fields."""
    made = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=epoch,
        rebalance_timeout_ms=1_000,
        subscribed_topic_names=[],
        topic_partitions=[],
    )
    for name, value in fields.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize("epoch", (0, 1, -1))
def test_complete_request_is_valid(epoch: int) -> None:
    validate_heartbeat(request(epoch), 1, assignors=ASSIGNORS)


def test_version_0_may_join_without_a_member_id() -> None:
    validate_heartbeat(request(member_id=""), 0, assignors=ASSIGNORS)


def test_static_member_may_leave_for_a_while() -> None:
    validate_heartbeat(request(-2, instance_id="i"), 1, assignors=ASSIGNORS)


def test_regular_expression_is_a_subscription() -> None:
    found = request(subscribed_topic_names=None, subscribed_topic_regex="a")

    validate_heartbeat(found, 1, assignors=ASSIGNORS)


OWNED = [TopicPartitions(topic_id=topic_id(1), partitions=[0])]


@pytest.mark.parametrize(
    ("found", "version", "message"),
    (
        (request(member_id=""), 1, "MemberId can't be empty."),
        (request(1, member_id=""), 0, "MemberId can't be empty."),
        (request(-1, member_id=" "), 0, "MemberId can't be empty."),
        (request(group_id=""), 1, "GroupId can't be empty."),
        (request(instance_id=""), 1, "InstanceId can't be empty."),
        (request(rack_id=""), 1, "RackId can't be empty."),
        (request(rebalance_timeout_ms=-1), 1, "RebalanceTimeoutMs must be provided in"),
        (request(topic_partitions=None), 1, "TopicPartitions must be empty when (re-)joining."),
        (request(topic_partitions=OWNED), 1, "TopicPartitions must be empty when (re-)joining."),
        (request(subscribed_topic_names=None), 1, "Either SubscribedTopicNames or"),
        (request(-2), 1, "InstanceId can't be null."),
        (request(-3), 1, "MemberEpoch is invalid."),
    ),
)
def test_incomplete_request_is_rejected(
    found: ConsumerGroupHeartbeatRequest, version: int, message: str
) -> None:
    with pytest.raises(KafkaError) as raised:
        validate_heartbeat(found, version, assignors=ASSIGNORS)

    assert raised.value.code == 42
    assert str(raised.value).startswith(message)


def test_unknown_assignor_is_rejected() -> None:
    with pytest.raises(UnsupportedAssignorError) as raised:
        validate_heartbeat(request(server_assignor="zz"), 1, assignors=ASSIGNORS)

    expected = "ServerAssignor zz is not supported. Supported assignors: uniform, range."
    assert str(raised.value) == expected
