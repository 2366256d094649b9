"""The groups of a shard: creation, records, load, and the end of a coordinator."""

import pytest

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.classic.classic_groups import ClassicGroups
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.outcome import Answer, TimerChange
from cordwood.core.errors import NotCoordinatorError, RebalanceInProgressError
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.join_group import JoinGroupResponse
from cordwood.protocol.messages.sync_group import SyncGroupResponse
from tests.unit.coordination.groups.classic.classic_samples import (
    GROUP,
    ClassicHarness,
    Client,
    completing,
    stable,
)
from tests.unit.coordination.groups.test_group_registry import group_of


def error_codes(answers: list[Answer]) -> list[int]:
    responses = [each.response for each in answers]
    assert all(isinstance(each, JoinGroupResponse | SyncGroupResponse) for each in responses)
    return [getattr(each, "error_code", 0) for each in responses]


def test_first_join_creates_the_group_with_its_record() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")

    a.send_join()

    assert (harness.last_value.generation, harness.last_value.protocol_type) == (0, "")
    assert harness.group.is_empty
    assert len(harness.group.pending_joins) == 1


def test_replay_of_the_first_record_keeps_the_member_that_joins() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a", version=3)

    a.send_join()

    assert len(harness.records) == 1
    assert harness.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert len(harness.group.waiting_joins) == 1
    assert harness.group.unsaved is None


@pytest.mark.parametrize(
    ("timeout_ms", "code"), ((5_999, 26), (6_000, 79), (1_800_000, 79), (1_800_001, 26))
)
def test_session_timeout_has_bounds(timeout_ms: int, code: int) -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a", session_timeout_ms=timeout_ms)

    assert a.joined(a.send_join()).error_code == code


def test_join_needs_a_group_id_before_anything_else() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a", session_timeout_ms=1, member_id="m")

    response = a.joined(a.send_join(""))

    assert (response.error_code, response.member_id) == (24, "m")


def test_member_of_a_missing_group_is_unknown() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a", member_id="m", generation=1)

    assert a.joined(a.send_join()).error_code == 25
    assert a.heartbeat() == 25
    assert not len(harness.registry)


def test_group_of_another_kind_has_other_protocols() -> None:
    harness = ClassicHarness()
    harness.registry.put(group_of(GROUP))
    a = Client(harness=harness, name="a")

    assert a.joined(a.send_join()).error_code == 23
    assert a.heartbeat() == 25


def test_heartbeat_needs_a_group_id() -> None:
    harness = ClassicHarness()
    request = HeartbeatRequest(group_id="", generation_id=1, member_id="m")

    outcome = harness.groups.heartbeat(request, ClientContext(4), ticket=harness.ticket(), now_ms=0)

    assert outcome.answers[0].response == HeartbeatResponse(error_code=24)


def test_description_names_the_problem() -> None:
    harness = ClassicHarness()
    harness.registry.put(group_of("other"))

    missing = harness.groups.describe("zz", ClientContext(6))
    other = harness.groups.describe("other", ClientContext(6))

    assert missing.error_message == "Group zz not found."
    assert other.error_message == "Group other is not a classic group."


def test_description_of_a_group_has_its_members() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    stable(harness, a)

    description = harness.groups.describe(GROUP, ClientContext(6))

    assert (description.group_state, len(description.members)) == ("Stable", 1)


def test_loaded_group_goes_on_where_it_was() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    stable(harness, a, b)

    harness.reload()

    assert harness.timer_in("classic-session", GROUP, a.member_id) == 10_000
    assert (a.heartbeat(), b.heartbeat()) == (0, 0)
    assert b.synced(b.sync()).assignment == b"b"


def test_loaded_members_end_with_their_sessions() -> None:
    harness = ClassicHarness()
    stable(harness, Client(harness=harness, name="a"))
    harness.reload()

    harness.advance(10_000)

    assert harness.group.is_empty


def test_unfinished_generation_is_lost_with_the_coordinator() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    completing(harness, a)

    harness.reload()

    assert harness.group.is_empty
    assert a.heartbeat() == 25


def test_loaded_group_above_its_size_rebalances() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    stable(harness, a, b)
    harness.settings = GroupSettings(max_size=1)

    harness.reload()

    assert harness.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert harness.timer_in("classic-join", GROUP) == 60_000


def test_groups_of_another_kind_have_no_part_in_load_and_close() -> None:
    harness = ClassicHarness()
    harness.registry.put(group_of(GROUP))

    assert not harness.groups.finish_load(harness.now_ms).timers
    assert not harness.groups.close(NotCoordinatorError()).timers


def test_tombstone_removes_the_group() -> None:
    harness = ClassicHarness()
    stable(harness, Client(harness=harness, name="a"))
    group = harness.group

    harness.replay(*group.tombstones())

    assert not len(harness.registry)
    assert group.state is ClassicGroupState.DEAD


def test_tombstone_does_not_remove_a_group_of_another_kind() -> None:
    harness = ClassicHarness()
    group = group_of(GROUP)
    harness.registry.put(group)

    harness.groups.replay(GROUP, None)

    assert harness.registry.get(GROUP) is group


def test_commit_begins_the_session_again() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    stable(harness, a)

    outcome = harness.groups.keep_session(harness.group, a.member_id, now_ms=harness.now_ms)

    due_ms = harness.now_ms + 10_000
    assert outcome.timers == [TimerChange(("classic-session", GROUP, a.member_id), due_ms)]


def test_commit_of_another_client_or_before_the_assignments_changes_no_session() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    completing(harness, a)

    for member_id in (a.member_id, ""):
        outcome = harness.groups.keep_session(harness.group, member_id, now_ms=harness.now_ms)
        assert not outcome.timers


def test_simple_group_is_created_once_and_without_a_record() -> None:
    harness = ClassicHarness()

    group = harness.groups.simple_group(GROUP, now_ms=harness.now_ms)

    assert isinstance(group, ClassicGroup)
    assert group.is_simple
    assert harness.groups.simple_group(GROUP, now_ms=harness.now_ms) is group
    assert not harness.records


def test_member_can_join_a_simple_group() -> None:
    harness = ClassicHarness()
    harness.groups.simple_group(GROUP, now_ms=harness.now_ms)
    a = Client(harness=harness, name="a")

    stable(harness, a)

    assert len(harness.records) == 1
    assert harness.last_value.protocol_type == "consumer"


def test_requests_that_wait_end_with_the_coordinator() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    completing(harness, a, b)
    b.sync()
    Client(harness=harness, name="c", version=3).join("other")

    outcome = harness.groups.close(NotCoordinatorError())

    assert error_codes(outcome.answers) == [16, 16]
    assert {group.state_name for group in harness.registry} == {"Dead"}
    assert all(each.at_ms is None for each in outcome.timers)


def test_retired_group_answers_with_an_error_and_has_no_timers() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    stable(harness, a, b)
    a.join()
    group = harness.group

    harness.run(harness.groups.retire(group, RebalanceInProgressError(), now_ms=harness.now_ms))

    assert error_codes(list(harness.answers.values())[-1:]) == [27]
    assert not harness.timers
    assert group.state is ClassicGroupState.DEAD


def test_converted_group_gets_sessions_and_a_rebalance() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    stable(harness, a, b)
    harness.timers = {}

    harness.run(harness.groups.start_sessions(harness.group, now_ms=harness.now_ms))
    harness.run(harness.groups.rebalance(harness.group, now_ms=harness.now_ms))

    assert harness.timer_in("classic-session", GROUP, a.member_id) == 10_000
    assert a.heartbeat() == 27


def test_timer_of_a_missing_group_changes_nothing() -> None:
    groups = ClassicHarness().groups

    assert isinstance(groups, ClassicGroups)
    assert groups.on_timer(("classic-session", "zz", "m"), 0).answers == []
