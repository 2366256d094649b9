"""A group shard composes groups and offsets; transcripts of `groups/offsets` have more."""

import pytest

from cordwood.coordination.coordinator_record import CoordinatorRecord, StoredRecord
from cordwood.coordination.group_shard import GroupShard
from cordwood.coordination.outcome import TimerChange
from cordwood.core.errors import GroupIdNotFoundError, NotCoordinatorError
from cordwood.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from cordwood.protocol.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.internal import GroupMetadataKey
from cordwood.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from cordwood.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from cordwood.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from cordwood.protocol.messages.offset_delete import OffsetDeleteRequest
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from cordwood.testing.seeded_random import SeededRandom
from tests.unit.coordination.offset_samples import ORDERS, commit_request, commit_value, stored
from tests.unit.coordination.shard_harness import ShardHarness


def shard_with_offset() -> ShardHarness:
    """Return a shard with a simple group `g`."""
    harness = ShardHarness((ORDERS,))
    request = commit_request(("orders", 0, 5))
    context = harness.context(10)
    harness.run(harness.shard.offset_commit(request, context, ticket=harness.ticket(), now_ms=0))
    return harness


def join(harness: ShardHarness, group_id: str = "g") -> JoinGroupRequest:
    """Let a member join, which waits for others; return its request."""
    request = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=20_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0")],
    )
    outcome = harness.shard.join_group(
        request, harness.context(3), ticket=harness.ticket(), now_ms=harness.now_ms
    )
    harness.run(outcome)
    return request


def test_offset_without_a_group_makes_a_simple_one() -> None:
    group = shard_with_offset().shard.groups.get("g")

    assert (group.state_name, group.protocol_type) == ("Empty", "")


def test_early_record_type_is_replayed() -> None:
    shard = GroupShard(random=SeededRandom(0))
    record = stored(0, commit_value(5)).record._replace(type=0)

    shard.replay(StoredRecord(record, 0))

    assert "g" in shard.groups.by_id


def test_unknown_record_type_changes_nothing() -> None:
    shard = GroupShard(random=SeededRandom(0))

    shard.replay(StoredRecord(CoordinatorRecord(17, GroupMetadataKey(group="g"), None), 0))

    assert not shard.groups.by_id


def test_load_begins_the_checks_for_expired_offsets() -> None:
    outcome = shard_with_offset().shard.finish_load(5)

    assert TimerChange(("offsets", "check"), 600_005) in outcome.timers


def test_deleted_groups_are_named_once() -> None:
    harness = shard_with_offset()
    ticket = harness.ticket()
    request = DeleteGroupsRequest(group_names=["g", "missing", "g"])

    records = harness.run(
        harness.shard.delete_groups(request, harness.context(2), ticket=ticket, now_ms=0)
    )

    results = harness.answer(ticket, DeleteGroupsResponse).results
    assert [(each.group_id, each.error_code) for each in results] == [("g", 0), ("missing", 69)]
    assert [each.type for each in records] == [1, 2]
    assert not harness.shard.groups.by_id


def test_group_with_members_is_not_deleted() -> None:
    harness = shard_with_offset()
    join(harness)
    ticket = harness.ticket()
    request = DeleteGroupsRequest(group_names=["g"])

    harness.run(harness.shard.delete_groups(request, harness.context(2), ticket=ticket, now_ms=0))

    assert harness.answer(ticket, DeleteGroupsResponse).results[0].error_code == 68


@pytest.mark.parametrize(
    ("states", "types", "found"),
    (
        ([], [], ["g"]),
        (["empty"], ["CLASSIC"], ["g"]),
        (["Stable"], [], []),
        ([], ["consumer"], []),
        ([], ["unknown"], []),
    ),
)
def test_listed_groups_match_the_filters(
    states: list[str], types: list[str], found: list[str]
) -> None:
    harness = shard_with_offset()
    request = ListGroupsRequest(states_filter=states, types_filter=types)
    ticket = harness.ticket()

    harness.run(harness.shard.list_groups(request, harness.context(5), ticket=ticket, now_ms=0))

    groups = harness.answer(ticket, ListGroupsResponse).groups
    assert [each.group_id for each in groups] == found


@pytest.mark.parametrize(("version", "code"), ((5, 0), (6, 69)))
def test_missing_group_is_described_as_dead(version: int, code: int) -> None:
    harness = shard_with_offset()
    request = DescribeGroupsRequest(groups=["g", "missing"])
    ticket = harness.ticket()

    harness.run(
        harness.shard.describe_groups(request, harness.context(version), ticket=ticket, now_ms=0)
    )

    groups = harness.answer(ticket, DescribeGroupsResponse).groups
    assert [(each.group_state, each.error_code) for each in groups] == [
        ("Empty", 0),
        ("Dead", code),
    ]


def test_requests_of_unknown_members_fail() -> None:
    harness = shard_with_offset()
    shard, context = harness.shard, harness.context(2)
    tickets = [harness.ticket() for _ in range(3)]
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    sync = SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=[])
    leave = LeaveGroupRequest(group_id="g", member_id="m")

    harness.run(shard.heartbeat(beat, context, ticket=tickets[0], now_ms=0))
    harness.run(shard.sync_group(sync, context, ticket=tickets[1], now_ms=0))
    harness.run(shard.leave_group(leave, context, ticket=tickets[2], now_ms=0))

    assert harness.answer(tickets[0], HeartbeatResponse).error_code == 25
    assert harness.answer(tickets[1], SyncGroupResponse).error_code == 25
    assert harness.answer(tickets[2], LeaveGroupResponse).error_code == 25


def test_end_of_leadership_answers_joins_that_wait() -> None:
    harness = shard_with_offset()
    join(harness)
    (ticket,) = (each for each in (1, 2) if each not in harness.answers)

    outcome = harness.shard.close(NotCoordinatorError())

    (answer,) = outcome.answers
    assert answer.ticket == ticket
    assert isinstance(answer.response, JoinGroupResponse)
    assert answer.response.error_code == 16


def test_commit_keeps_the_session_of_a_member() -> None:
    harness = ShardHarness((ORDERS,))
    join(harness)
    harness.advance(3_000)
    member_id = next(key[2] for key in harness.timers if len(key) == 3)
    sync = SyncGroupRequest(group_id="g", generation_id=1, member_id=member_id, assignments=[])
    context, shard = harness.context(3), harness.shard
    harness.run(shard.sync_group(sync, context, ticket=harness.ticket(), now_ms=harness.now_ms))
    request = commit_request(("orders", 0, 5), epoch=1, member_id=member_id)

    harness.advance(9_000)
    outcome = shard.offset_commit(request, context, ticket=harness.ticket(), now_ms=harness.now_ms)
    harness.run(outcome)

    assert [change.at_ms for change in outcome.timers] == [22_000]


def test_deletion_without_partitions_needs_the_group() -> None:
    harness = shard_with_offset()
    context = harness.context(0)
    request = OffsetDeleteRequest(group_id="missing", topics=[])

    with pytest.raises(GroupIdNotFoundError):
        harness.shard.offset_delete(request, context, ticket=harness.ticket(), now_ms=0)
