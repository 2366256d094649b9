"""A heartbeat joins, keeps, reconciles or removes a member."""

import pytest

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_member import (
    ClassicGroupMember,
    MemberProtocol,
)
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.core.errors import GroupIdNotFoundError
from cordwood.protocol.messages.internal import (
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
)
from tests.unit.coordination.groups.consumer.consumer_harness import ConsumerHarness
from tests.unit.coordination.groups.consumer.request_samples import (
    heartbeat_request,
    outcome_of,
    send,
    subscription,
)


def test_first_member_creates_the_group_and_gets_all_partitions() -> None:
    harness = ConsumerHarness()
    topic = harness.topic("a", 2)

    response = send(harness, heartbeat_request("m", 0, topics=["a"]))

    assert (response.member_id, response.member_epoch) == ("m", 2)
    assert response.heartbeat_interval_ms == 5_000
    assert response.assignment is not None
    (assigned,) = response.assignment.topic_partitions
    assert (assigned.topic_id, assigned.partitions) == (topic.topic_id, [0, 1])


def test_records_of_a_join_are_in_the_order_of_kafka() -> None:
    harness = ConsumerHarness()
    harness.topic("a", 2)

    outcome = outcome_of(harness, heartbeat_request("m", 0, topics=["a"]))

    assert [each.type for each in outcome.records] == [5, 3, 7, 6, 8]
    assert "g" not in harness.registry.by_id


def test_unchanged_heartbeat_begins_the_session_again_and_writes_nothing() -> None:
    harness = ConsumerHarness()
    send(harness, heartbeat_request("m", 0, topics=[]))

    outcome = outcome_of(harness, heartbeat_request("m", 1))

    assert outcome.records == []
    assert [each.key for each in outcome.timers] == [("consumer-session", "g", "m")]


def test_rack_of_a_member_changes_no_epoch() -> None:
    harness = ConsumerHarness()
    send(harness, heartbeat_request("m", 0, topics=[]))
    request = heartbeat_request("m", 1)
    request.rack_id = "r"

    send(harness, request)

    assert harness.group().member("m").rack_id == "r"
    assert harness.group().group_epoch == 1


def test_missing_group_is_an_error_after_the_join() -> None:
    with pytest.raises(GroupIdNotFoundError, match="Consumer group g not found"):
        send(ConsumerHarness(), heartbeat_request("m", 1))


def test_empty_classic_group_is_replaced() -> None:
    harness = ConsumerHarness()
    harness.registry.put(ClassicGroup("g"))

    outcome = outcome_of(harness, heartbeat_request("m", 0, topics=[]))

    assert (outcome.records[0].type, outcome.records[0].value) == (2, None)
    harness.run(outcome)
    assert harness.group().group_epoch == 1


def test_classic_group_is_converted_by_a_join_alone() -> None:
    harness = ConsumerHarness()
    harness.registry.put(ClassicGroup("g", state=ClassicGroupState.STABLE))

    with pytest.raises(GroupIdNotFoundError, match="Group g is not a consumer group"):
        send(harness, heartbeat_request("m", 1))


def test_topics_of_kafka_4_0_are_deleted_with_the_next_comparison() -> None:
    harness = ConsumerHarness()
    send(harness, heartbeat_request("m", 0, topics=[]))
    key = ConsumerGroupPartitionMetadataKey(group_id="g")
    value = ConsumerGroupPartitionMetadataValue(topics=[])
    harness.groups.replay(CoordinatorRecord(4, key, value))
    harness.group().checked_epoch = None

    outcome = outcome_of(harness, heartbeat_request("m", 1))

    assert [(each.type, each.value) for each in outcome.records] == [(4, None)]


def test_leaving_member_gets_its_epoch_and_no_assignment() -> None:
    harness = ConsumerHarness()
    send(harness, heartbeat_request("m", 0, topics=[]))

    response = send(harness, heartbeat_request("m", -1))

    assert (response.member_epoch, response.heartbeat_interval_ms) == (-1, 0)
    assert response.assignment is None
    assert harness.group().is_empty


def test_classic_group_is_converted_and_its_requests_end() -> None:
    harness = ConsumerHarness()
    group = ClassicGroup("g", 0, ClassicGroupState.STABLE, protocol_type="consumer")
    protocols = (MemberProtocol("range", subscription(["a"])),)
    group.add(
        ClassicGroupMember(
            member_id="c",
            instance_id=None,
            client_id="",
            client_host="",
            rebalance_timeout_ms=1,
            session_timeout_ms=1,
            protocols=protocols,
        )
    )
    harness.registry.put(group)

    outcome = outcome_of(harness, heartbeat_request("m", 0, topics=["a"]))

    assert group.state is ClassicGroupState.DEAD
    harness.run(outcome)
    assert [*harness.group().members] == ["c", "m"]


def test_field_of_a_heartbeat_changes_its_member() -> None:
    harness = ConsumerHarness()
    send(harness, heartbeat_request("m", 0, topics=[], instance="i"))

    plain = outcome_of(harness, heartbeat_request("m", 1, instance="i"))
    changed = heartbeat_request("m", 1, instance="i")
    changed.server_assignor = "range"

    assert plain.records == []
    assert [each.type for each in outcome_of(harness, changed).records] == [5]
