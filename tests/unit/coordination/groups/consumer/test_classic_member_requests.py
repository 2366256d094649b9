"""SyncGroup, Heartbeat and LeaveGroup of classic members in a consumer group."""

import pytest

from cordwood.coordination.groups.consumer.classic_member_requests import (
    classic_heartbeat,
    leave_group,
    sync_group,
)
from cordwood.coordination.groups.consumer.conversion.consumer_protocol import read_assignment
from cordwood.coordination.outcome import Outcome
from cordwood.core.errors import (
    FencedInstanceIdError,
    IllegalGenerationError,
    InconsistentGroupProtocolError,
    KafkaError,
    UnknownMemberIdError,
)
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.join_group import JoinGroupResponse
from cordwood.protocol.messages.leave_group import LeaveGroupResponse, MemberIdentity
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.unit.coordination.groups.consumer.consumer_harness import (
    TICKET,
    ConsumerHarness,
    client,
)
from tests.unit.coordination.groups.consumer.request_samples import (
    heartbeat_request,
    join_request,
    send,
    shard_state,
)


def harness_of() -> ConsumerHarness:
    """Return a group with the consumer member m in epoch 2, and the classic member c in 3."""
    harness = ConsumerHarness()
    harness.topic("a", 2)
    send(harness, heartbeat_request("m", 0, topics=["a"]))
    harness.now_ms += 1_000
    join = harness.groups.join_group(
        join_request("c", ["a"]), client(3), ticket=TICKET, now_ms=harness.now_ms
    )
    harness.run(join)
    return harness


def sync(
    harness: ConsumerHarness,
    member_id: str = "c",
    generation: int = 3,
    *,
    instance: str | None = None,
    protocol_type: str | None = None,
    protocol: str | None = "range",
) -> Outcome:
    request = SyncGroupRequest(
        group_id="g",
        generation_id=generation,
        member_id=member_id,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocol_name=protocol,
        assignments=[],
    )
    return sync_group(
        shard_state(harness), harness.group(), request=request, ticket=TICKET, now_ms=0
    )


def heartbeat_code(harness: ConsumerHarness, generation: int = 3) -> int:
    request = HeartbeatRequest(group_id="g", generation_id=generation, member_id="c")
    outcome = classic_heartbeat(
        shard_state(harness), harness.group(), request=request, ticket=TICKET, now_ms=0
    )
    response = outcome.answers[0].response
    assert isinstance(response, HeartbeatResponse)
    return response.error_code


def test_sync_returns_the_present_assignment() -> None:
    harness = harness_of()
    topic = harness.topics["a"].topic_id
    send(harness, heartbeat_request("m", 2, owned={topic: [0]}))
    harness.run(
        harness.groups.join_group(
            join_request("c", ["a"]), client(3), ticket=TICKET, now_ms=harness.now_ms
        )
    )

    response = sync(harness).answers[0].response

    assert isinstance(response, SyncGroupResponse)
    (assigned,) = read_assignment(bytes(response.assignment)).assigned_partitions
    assert (assigned.topic, len(assigned.partitions)) == ("a", 1)


@pytest.mark.parametrize(
    ("fields", "error"),
    (
        ({"member_id": "z"}, UnknownMemberIdError),
        ({"member_id": "m"}, UnknownMemberIdError),
        ({"instance": "i"}, UnknownMemberIdError),
        ({"protocol_type": "connect"}, InconsistentGroupProtocolError),
        ({"protocol": "sticky"}, InconsistentGroupProtocolError),
    ),
)
def test_sync_is_rejected(fields: dict[str, str], error: type[KafkaError]) -> None:
    with pytest.raises(error):
        sync(harness_of(), **fields)  # type: ignore[arg-type]  # names of the parameters


def test_sync_of_another_generation_is_rejected() -> None:
    with pytest.raises(IllegalGenerationError):
        sync(harness_of(), generation=2)


def test_sync_of_another_static_client_is_fenced() -> None:
    harness = harness_of()
    send(harness, heartbeat_request("s", 0, topics=["a"], instance="i"))

    with pytest.raises(FencedInstanceIdError):
        sync(harness, instance="i")


def test_sync_waits_for_a_join_when_the_target_is_newer() -> None:
    harness = harness_of()
    harness.group().assignment_epoch = 4

    outcome = sync(harness)

    assert outcome.answers[0].response == SyncGroupResponse(error_code=27, assignment=b"")
    assert [each.key[0] for each in outcome.timers] == ["consumer-join"]


def test_heartbeat_asks_to_join_when_the_next_step_is_due() -> None:
    harness = harness_of()
    topic = harness.topics["a"].topic_id
    assert heartbeat_code(harness) == 0  # the partition is still held by the other member

    send(harness, heartbeat_request("m", 2, owned={topic: [0]}))
    assert heartbeat_code(harness) == 27

    harness.group().assignment_epoch = 4
    assert heartbeat_code(harness) == 27


def test_heartbeat_of_another_generation_is_rejected() -> None:
    with pytest.raises(IllegalGenerationError):
        heartbeat_code(harness_of(), generation=2)


def test_members_of_both_protocols_leave_by_their_ids() -> None:
    harness = harness_of()
    send(harness, heartbeat_request("s", 0, topics=["a"], instance="i"))
    identities = [
        MemberIdentity(member_id="", group_instance_id="i"),
        MemberIdentity(member_id="z", group_instance_id="i"),
        MemberIdentity(member_id="", group_instance_id="j"),
        MemberIdentity(member_id="z"),
        MemberIdentity(member_id="m"),
    ]

    outcome = leave_group(
        shard_state(harness),
        harness.group(),
        members=identities,
        version=5,
        ticket=TICKET,
        now_ms=0,
    )

    response = outcome.answers[0].response
    assert isinstance(response, LeaveGroupResponse)
    assert [each.error_code for each in response.members] == [0, 82, 25, 25, 0]


def test_static_member_syncs_with_its_instance_id() -> None:
    harness = harness_of()
    request = join_request("", ["a"], instance="i")
    outcome = harness.groups.join_group(
        request, client(3), ticket=TICKET, now_ms=harness.now_ms + 1_000
    )
    joined = harness.answer(outcome)
    assert isinstance(joined, JoinGroupResponse)

    found = sync(harness, joined.member_id, joined.generation_id, instance="i")

    assert isinstance(found.answers[0].response, SyncGroupResponse)
