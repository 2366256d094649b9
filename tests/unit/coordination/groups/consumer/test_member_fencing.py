"""Members that leave or are fenced are removed in one batch."""

from cordwood.coordination.groups.consumer.member_fencing import fence_members, leave
from cordwood.coordination.outcome import Outcome
from tests.unit.coordination.groups.consumer.consumer_harness import ConsumerHarness
from tests.unit.coordination.groups.consumer.request_samples import (
    heartbeat_request,
    send,
    shard_state,
)


def harness_of(*member_ids: str, regex: str | None = None) -> ConsumerHarness:
    harness = ConsumerHarness()
    for member_id in member_ids:
        send(harness, heartbeat_request(member_id, 0, topics=[], regex=regex))
    return harness


def test_members_leave_with_one_epoch() -> None:
    harness = harness_of("m", "n")
    group = harness.group()

    members = [*group.members.values()]
    outcome = fence_members(shard_state(harness), group, members=members, now_ms=0)

    assert [each.type for each in outcome.records] == [8, 7, 5, 8, 7, 5, 3]
    assert len(outcome.timers) == 8
    harness.run(outcome)
    assert harness.group().is_empty


def test_no_member_is_no_change() -> None:
    harness = harness_of("m")

    assert fence_members(shard_state(harness), harness.group(), members=[], now_ms=0) == Outcome()


def test_last_subscriber_takes_its_expression_with_it() -> None:
    harness = harness_of("m", "n", regex="a.*")
    group = harness.group()

    first = fence_members(shard_state(harness), group, members=[group.member("m")], now_ms=0)
    assert [each.type for each in first.records] == [8, 7, 5, 3]

    harness.run(first)
    last = fence_members(shard_state(harness), group, members=[group.member("n")], now_ms=0)
    assert [each.type for each in last.records] == [8, 7, 5, 16, 3]


def test_static_member_that_leaves_for_a_while_stays() -> None:
    harness = ConsumerHarness()
    send(harness, heartbeat_request("m", 0, topics=[], instance="i"))

    request = heartbeat_request("m", -2, instance="i")
    response, outcome = leave(shard_state(harness), request, now_ms=0)

    assert response.member_epoch == -2
    assert [each.type for each in outcome.records] == [8]
    assert outcome.timers == []
