"""A group shard composes groups and offsets; transcripts of `groups/offsets` have more."""

import pytest

from cordwood.coordination.coordinator_record import CoordinatorRecord, StoredRecord
from cordwood.coordination.group_shard import LIGHT_OFFSETS, GroupShard
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_responses import join_error
from cordwood.coordination.groups.classic.join_attempt import MOST_PROTOCOLS
from cordwood.coordination.offsets.committed_offset import CommittedOffset
from cordwood.coordination.offsets.committed_run import CommittedRun
from cordwood.coordination.outcome import CoordinatorEvent, EventCount, Outcome, TimerChange
from cordwood.core.errors import (
    GroupIdNotFoundError,
    NotCoordinatorError,
    NotEnoughReplicasError,
)
from cordwood.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from cordwood.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
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
from cordwood.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
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


def join_request(member_id: str = "") -> JoinGroupRequest:
    """Return the request of a consumer that joins `g`."""
    metadata = b"\0\0\0\0\0\0\xff\xff\xff\xff"
    return JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=20_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )


def join(harness: ShardHarness) -> None:
    """Let a member join, which waits for others."""
    outcome = harness.shard.join_group(
        join_request(), harness.context(3), ticket=harness.ticket(), now_ms=harness.now_ms
    )
    harness.run(outcome)


def test_offset_without_a_group_makes_a_simple_one() -> None:
    group = shard_with_offset().shard.groups.get("g")

    assert (group.state_name, group.protocol_type) == ("Empty", "")


def test_run_of_offsets_makes_a_simple_group_of_its_first_time() -> None:
    shard = GroupShard(random=SeededRandom(0))
    offsets = {each: CommittedOffset.of(commit_value(5, at_ms=each), each) for each in (1, 2)}

    shard.replay_run(CommittedRun("g", "orders", 1, offsets, 2))

    group = shard.groups.get("g")
    assert isinstance(group, ClassicGroup)
    assert (group.state_name, group.state_timestamp_ms) == ("Empty", 1)


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
        ([" empty"], ["CLASSIC"], ["g"]),
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


def consume(harness: ShardHarness, epoch: int = 0) -> None:
    """Let the member `m` of the consumer protocol join `g`, or leave it."""
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=epoch,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    outcome = harness.shard.consumer_group_heartbeat(
        request, harness.context(1), ticket=harness.ticket(), now_ms=harness.now_ms
    )
    harness.run(outcome)


def kind_of(harness: ShardHarness) -> tuple[str, str]:
    """Return the type and the state of the group `g`."""
    group = harness.shard.groups.get("g")
    return group.group_type.value, group.state_name


def test_simple_group_becomes_a_consumer_group() -> None:
    harness = shard_with_offset()

    consume(harness)

    assert kind_of(harness) == ("consumer", "Stable")


def test_empty_consumer_group_becomes_a_classic_one_by_a_join() -> None:
    harness = shard_with_offset()
    consume(harness)
    consume(harness, -1)

    join(harness)

    assert kind_of(harness) == ("classic", "PreparingRebalance")


def test_rejected_conversion_leaves_the_consumer_group() -> None:
    harness = shard_with_offset()
    consume(harness)
    consume(harness, -1)

    harness.rejection = NotEnoughReplicasError()
    join(harness)

    assert kind_of(harness) == ("consumer", "Empty")


def test_join_with_an_unknown_member_id_leaves_the_consumer_group() -> None:
    harness = shard_with_offset()
    consume(harness)
    consume(harness, -1)
    request = join_request("unknown")

    outcome = harness.shard.join_group(
        request, harness.context(3), ticket=harness.ticket(), now_ms=0
    )

    assert not outcome.records
    assert kind_of(harness) == ("consumer", "Empty")


def test_join_with_more_protocols_than_clients_have_is_rejected() -> None:
    """24,500 protocols took 25 ms, and each rebalance looks through those of all members."""
    harness = shard_with_offset()
    request, ticket = join_request(), harness.ticket()
    request.protocols *= MOST_PROTOCOLS + 1

    outcome = harness.shard.join_group(request, harness.context(3), ticket=ticket, now_ms=0)

    assert outcome == Outcome.answer(ticket, join_error(23, version=3))


def test_classic_requests_reach_the_members_of_a_consumer_group() -> None:
    harness = shard_with_offset()
    consume(harness)
    shard, context = harness.shard, harness.context(5)
    tickets = [harness.ticket() for _ in range(4)]
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    sync = SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=[])
    leave = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="m")])

    harness.run(shard.heartbeat(beat, context, ticket=tickets[0], now_ms=0))
    harness.run(shard.sync_group(sync, context, ticket=tickets[1], now_ms=0))
    harness.run(shard.join_group(join_request(), context, ticket=tickets[2], now_ms=0))
    harness.run(shard.leave_group(leave, context, ticket=tickets[3], now_ms=0))

    assert harness.answer(tickets[0], HeartbeatResponse).error_code == 25
    assert harness.answer(tickets[1], SyncGroupResponse).error_code == 25
    assert harness.answer(tickets[2], JoinGroupResponse).error_code == 79
    assert harness.answer(tickets[3], LeaveGroupResponse).members[0].error_code == 0
    assert kind_of(harness) == ("consumer", "Empty")


def test_group_of_the_other_kind_is_not_described() -> None:
    harness = shard_with_offset()
    shard, tickets = harness.shard, [harness.ticket() for _ in range(2)]
    request = ConsumerGroupDescribeRequest(group_ids=["g"], include_authorized_operations=False)
    classic = DescribeGroupsRequest(groups=["g"])

    harness.run(
        shard.consumer_group_describe(request, harness.context(1), ticket=tickets[0], now_ms=0)
    )
    consume(harness)
    harness.run(shard.describe_groups(classic, harness.context(6), ticket=tickets[1], now_ms=0))

    (described,) = harness.answer(tickets[0], ConsumerGroupDescribeResponse).groups
    assert (described.error_code, described.error_message) == (
        69,
        "Group g is not a consumer group.",
    )
    (other,) = harness.answer(tickets[1], DescribeGroupsResponse).groups
    assert (other.error_code, other.error_message) == (69, "Group g is not a classic group.")


def test_offsets_that_are_loaded_before_their_group_stay() -> None:
    harness = shard_with_offset()
    consume(harness)

    harness.reload()

    assert kind_of(harness) == ("consumer", "Stable")
    assert ("consumer-session", "g", "m") in harness.timers
    assert harness.advance(45_000), "the session ends"


def test_regular_expression_is_resolved_outside() -> None:
    harness = shard_with_offset()
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_regex="ord.*",
        topic_partitions=[],
    )
    harness.now_ms = 20_000
    outcome = harness.shard.consumer_group_heartbeat(
        request, harness.context(1), ticket=harness.ticket(), now_ms=harness.now_ms
    )
    harness.run(outcome)
    (due,) = harness.shard.take_due_resolutions()

    resolved = due.resolve(harness.now_ms)
    records = harness.run(harness.shard.on_regexes_resolved("g", resolved, now_ms=harness.now_ms))

    assert [each.type for each in records] == [16, 3]
    assert not harness.shard.take_due_resolutions()


def test_group_configs_are_those_of_consumer_groups() -> None:
    shard = shard_with_offset().shard

    assert shard.configs.session_timeout_ms("g") == 45_000


def test_offsets_of_deleted_groups_are_counted() -> None:
    harness = shard_with_offset()
    request, count = DeleteGroupsRequest(group_names=["g"]), harness.shard.count_offsets("g")

    outcome = harness.shard.delete_groups(
        request, harness.context(2), ticket=harness.ticket(), now_ms=0
    )

    assert count == 1
    assert outcome.events == (EventCount(CoordinatorEvent.OFFSETS_OF_GROUP_DELETED, 1),)


def test_group_with_many_offsets_is_deleted_in_a_long_event() -> None:
    """The tombstones of 10,000 offsets took 130 ms of the event loop."""
    harness = ShardHarness((ORDERS,))
    for at, record in enumerate(many_offsets(LIGHT_OFFSETS + 1)):
        harness.shard.replay(StoredRecord(record, at))
    request = DeleteGroupsRequest(group_names=["g"])

    outcome = harness.shard.delete_groups(
        request, harness.context(2), ticket=harness.ticket(), now_ms=0
    )
    before = [*outcome.records]

    assert (before, outcome.rest is not None) == ([], True)
    assert len(outcome.completed().records) == LIGHT_OFFSETS + 2
    assert len(outcome.answers) == 1


def many_offsets(count: int) -> list[CoordinatorRecord]:
    """Return the records of commits of a group."""
    return [stored(0, commit_value(5), partition=number).record for number in range(count)]
