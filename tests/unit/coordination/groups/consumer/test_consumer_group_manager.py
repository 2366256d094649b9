"""The manager passes requests, timers and topics to the groups of its shard."""

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.subscriptions import ResolvedRegularExpression
from cordwood.coordination.outcome import Answer, CoordinatorEvent, EventCount, Outcome
from cordwood.core.errors import GroupIdNotFoundError
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.join_group import JoinGroupResponse
from cordwood.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.unit.coordination.groups.consumer.consumer_harness import (
    TICKET,
    ConsumerHarness,
    client,
)
from tests.unit.coordination.groups.consumer.request_samples import (
    heartbeat_request,
    join_request,
    outcome_of,
    send,
)


def harness_of(*member_ids: str, regex: str | None = None) -> ConsumerHarness:
    harness = ConsumerHarness()
    harness.topic("a", 2)
    for member_id in member_ids:
        send(harness, heartbeat_request(member_id, 0, topics=[], regex=regex))
    return harness


def test_requests_of_the_classic_protocol_go_to_groups_with_members() -> None:
    harness = harness_of("m")
    harness.registry.put(ClassicGroup("c"))
    harness.registry.put(ConsumerGroup("empty"))

    taken = [each for each in ("g", "c", "empty", "x") if harness.groups.takes(each)]

    assert taken == ["g"]


def test_error_of_a_heartbeat_is_its_answer() -> None:
    (answer,) = outcome_of(harness_of(), heartbeat_request("m", 1)).answers

    assert isinstance(answer.response, GroupIdNotFoundError)


def test_groups_are_described_or_not_found() -> None:
    harness = harness_of("m")

    assert harness.groups.describe("g").group_state == "Stable"
    assert harness.groups.describe("x").error_code == 69


def test_empty_group_is_released_to_the_classic_protocol() -> None:
    harness = harness_of("m")
    assert harness.groups.release_empty("g") == Outcome()

    send(harness, heartbeat_request("m", -1))
    outcome = harness.groups.release_empty("g")

    assert [each.type for each in outcome.records] == [6, 4, 3]
    assert "g" not in harness.registry.by_id


def test_join_with_an_invalid_session_timeout_is_rejected() -> None:
    request = join_request("c", ["a"])
    request.session_timeout_ms = 1

    outcome = harness_of("m").groups.join_group(request, client(), ticket=TICKET, now_ms=0)

    response = outcome.answers[0].response
    assert isinstance(response, JoinGroupResponse)
    assert response.error_code == 26


def test_classic_requests_are_answered() -> None:
    harness = harness_of("m")
    joined = harness.groups.join_group(
        join_request("c", ["a"]), client(3), ticket=TICKET, now_ms=harness.now_ms
    )
    assert isinstance(harness.answer(joined), JoinGroupResponse)
    epoch = harness.group().member("c").member_epoch

    sync = SyncGroupRequest(group_id="g", generation_id=epoch, member_id="c", assignments=[])
    heartbeat = HeartbeatRequest(group_id="g", generation_id=epoch, member_id="c")
    leave = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="c")])

    synced = harness.answer(harness.groups.sync_group(sync, ticket=TICKET, now_ms=0))
    kept = harness.answer(harness.groups.heartbeat(heartbeat, ticket=TICKET, now_ms=0))
    left = harness.answer(
        harness.groups.leave_group(leave, ClientContext(5), ticket=TICKET, now_ms=0)
    )

    assert isinstance(synced, SyncGroupResponse)
    assert isinstance(kept, HeartbeatResponse)
    assert isinstance(left, LeaveGroupResponse)
    assert [synced.error_code, kept.error_code, left.members[0].error_code] == [0, 0, 0]


def test_errors_of_classic_requests_are_responses() -> None:
    groups = harness_of("m").groups
    sync = SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=[])
    heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")

    assert groups.sync_group(sync, ticket=TICKET, now_ms=0).answers == [
        Answer(TICKET, SyncGroupResponse(error_code=25, assignment=b""))
    ]
    assert groups.heartbeat(heartbeat, ticket=TICKET, now_ms=0).answers == [
        Answer(TICKET, HeartbeatResponse(error_code=25))
    ]


def test_timer_fences_its_member_and_no_other() -> None:
    harness = harness_of("m")

    gone = [("consumer-session", "g", "n"), ("consumer-session", "x", "m")]
    assert [harness.groups.on_timer(key, 0) for key in gone] == [Outcome(), Outcome()]

    harness.run(harness.groups.on_timer(("consumer-session", "g", "m"), 0))
    assert harness.group().is_empty


def test_changed_topics_make_those_of_their_subscribers_stale() -> None:
    harness = ConsumerHarness()
    harness.topic("a", 2)
    send(harness, heartbeat_request("m", 0, topics=["a"]))
    send(harness, heartbeat_request("m", 2))
    harness.registry.put(ConsumerGroup("other"))
    assert not harness.group().has_stale_topics

    harness.topic("b", 1)
    assert not harness.group().has_stale_topics

    harness.topic("a", 3)
    assert harness.group().has_stale_topics


def test_resolved_expressions_are_written_with_the_next_epoch() -> None:
    harness = harness_of("m", regex="a.*")
    (due,) = harness.groups.take_due_resolutions()

    outcome = harness.groups.on_regexes_resolved("g", due.resolve(7), now_ms=8)

    assert [each.type for each in outcome.records] == [16, 3]
    assert outcome.events == (EventCount(CoordinatorEvent.CONSUMER_REBALANCE),)
    harness.run(outcome)
    assert harness.group().subscriptions.resolved["a.*"].timestamp_ms == 7


def test_equal_resolution_is_written_without_another_epoch() -> None:
    harness = harness_of("m", regex="a.*")
    (due,) = harness.groups.take_due_resolutions()
    harness.run(harness.groups.on_regexes_resolved("g", due.resolve(7), now_ms=8))

    outcome = harness.groups.on_regexes_resolved("g", due.resolve(9), now_ms=9)

    assert [each.type for each in outcome.records] == [16]


def test_failed_or_late_resolutions_change_nothing() -> None:
    harness = harness_of("m")
    unused = {"z": ResolvedRegularExpression(frozenset({"a"}), 1, 1)}

    assert harness.groups.on_regexes_resolved("g", {}, now_ms=8) == Outcome()
    assert harness.groups.on_regexes_resolved("g", unused, now_ms=8) == Outcome()
    assert harness.groups.on_regexes_resolved("x", unused, now_ms=8) == Outcome()


def test_loaded_members_have_sessions_and_rebalance_timers() -> None:
    harness = ConsumerHarness()
    topic = harness.topic("a", 2)
    send(harness, heartbeat_request("m", 0, topics=["a"]))
    harness.now_ms += 1_000
    send(harness, heartbeat_request("n", 0, topics=["a"]))
    send(harness, heartbeat_request("m", 2, owned={topic.topic_id: [0, 1]}))

    harness.reload()

    due = {key: at_ms - harness.now_ms for key, at_ms in harness.timers.items()}
    assert due == {
        ("consumer-session", "g", "m"): 45_000,
        ("consumer-session", "g", "n"): 45_000,
        ("consumer-rebalance", "g", "m"): 5_000,
    }


def test_configurations_of_groups_are_used() -> None:
    harness = harness_of()
    harness.groups.configs.update("g", {"consumer.heartbeat.interval.ms": 7_000})

    assert send(harness, heartbeat_request("m", 0, topics=[])).heartbeat_interval_ms == 7_000


def test_topics_created_during_a_resolution_cause_another_one() -> None:
    harness = harness_of("m", regex="a.*")
    harness.topic("b", 1)
    (due,) = harness.groups.take_due_resolutions()
    harness.run(harness.groups.on_regexes_resolved("g", due.resolve(harness.now_ms), now_ms=0))
    harness.now_ms += 20_000

    harness.topic("b", 2)
    send(harness, heartbeat_request("m", 1))

    assert len(harness.groups.take_due_resolutions()) == 1
