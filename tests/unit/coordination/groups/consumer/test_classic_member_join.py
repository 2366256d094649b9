"""JoinGroup lets a classic member join a consumer group."""

import pytest

from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.outcome import Outcome
from cordwood.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from tests.unit.coordination.groups.consumer.consumer_harness import (
    TICKET,
    ConsumerHarness,
    client,
)
from tests.unit.coordination.groups.consumer.request_samples import (
    heartbeat_request,
    join_request,
    send,
)


def harness_of(instance: str | None = None) -> ConsumerHarness:
    """Return a group with one member of the consumer protocol."""
    harness = ConsumerHarness()
    harness.topic("a", 2)
    send(harness, heartbeat_request("m", 0, topics=["a"], instance=instance))
    harness.now_ms += 1_000
    return harness


def joining(harness: ConsumerHarness, request: JoinGroupRequest, version: int = 9) -> Outcome:
    return harness.groups.join_group(request, client(version), ticket=TICKET, now_ms=harness.now_ms)


def joined(
    harness: ConsumerHarness, request: JoinGroupRequest, version: int = 9
) -> JoinGroupResponse:
    response = harness.answer(joining(harness, request, version))
    assert isinstance(response, JoinGroupResponse)
    return response


def test_generation_is_the_member_epoch_and_there_is_no_leader() -> None:
    harness = harness_of()

    response = joined(harness, join_request("c", ["a"]))

    assert (response.generation_id, response.protocol_name) == (3, "range")
    assert (response.leader, response.members) == ("", [])
    assert harness.group().member("c").classic is not None


def test_member_has_session_and_sync_timers() -> None:
    harness = harness_of()

    outcome = joining(harness, join_request("c", ["a"]))

    due = {each.key[0]: each.at_ms for each in outcome.timers}
    assert due["consumer-session"] == harness.now_ms + 10_000
    assert due["consumer-sync"] == harness.now_ms + 5_000
    assert due["consumer-join"] is None


def test_version_0_has_no_rebalance_timeout() -> None:
    harness = harness_of()
    request = join_request("", ["a"])
    request.rebalance_timeout_ms = -1

    response = joined(harness, request, version=0)

    assert harness.group().member(response.member_id).rebalance_timeout_ms == 10_000


@pytest.mark.parametrize(
    ("request_", "code"),
    (
        (join_request("", ["a"]), 79),
        (join_request("c", ["a"], instance="i"), 25),
        (join_request("c", ["a"], metadata=b"\0"), -1),
        (join_request("c", ["a"], metadata=b"\xff\xff"), -1),
    ),
)
def test_join_is_rejected(request_: JoinGroupRequest, code: int) -> None:
    assert joined(harness_of(), request_).error_code == code


def test_other_protocol_is_rejected_without_a_member_id() -> None:
    request = join_request("c", ["a"])
    request.protocol_type = "connect"

    response = joined(harness_of(), request)

    assert (response.error_code, response.member_id) == (23, "")


def test_static_member_is_fenced_by_another_client() -> None:
    assert joined(harness_of("i"), join_request("c", ["a"], instance="i")).error_code == 82


def test_static_classic_client_replaces_the_last_consumer_member() -> None:
    # The group has no other member of the consumer protocol then, and becomes classic.
    harness = harness_of("i")

    response = joined(harness, join_request("", ["a"], instance="i"))

    group = harness.registry.get("g")
    assert isinstance(group, ClassicGroup)
    assert [*group.members] == [response.member_id]


def test_static_member_joins_again_with_its_id() -> None:
    harness = harness_of()
    first = joined(harness, join_request("", ["a"], instance="i"))

    again = joined(harness, join_request(first.member_id, ["a"], instance="i"))

    assert again.member_id == first.member_id
    assert len(harness.group().members) == 2


def test_conversion_with_another_subscription_begins_a_rebalance() -> None:
    harness = harness_of("i")
    joined(harness, join_request("c", ["a"]))

    joined(harness, join_request("", ["a", "b"], instance="i"))

    group = harness.registry.get("g")
    assert isinstance(group, ClassicGroup)
    assert group.state_name == "PreparingRebalance"
