"""Members leave, alone or together, and an administrator removes static ones."""

import pytest

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.groups.classic.classic_group_leave import leaving_members, left
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.core.errors import NotEnoughReplicasError
from cordwood.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from tests.unit.coordination.groups.classic.classic_samples import (
    ClassicHarness,
    Client,
    completing,
    leave,
    stable,
)


def codes_of(response: LeaveGroupResponse) -> list[int]:
    return [each.error_code for each in response.members]


def test_group_becomes_empty_when_its_last_member_leaves() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    stable(harness, a)

    assert codes_of(a.leave()) == [0]

    assert harness.group.is_empty
    assert (harness.last_value.generation, harness.last_value.members) == (2, [])
    assert harness.last_value.protocol_type == "consumer"
    assert not harness.timers


def test_others_rebalance_when_a_member_leaves() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    stable(harness, a, b)

    a.leave()

    assert harness.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert b.heartbeat() == 27
    response = b.joined(b.join())
    assert (response.generation_id, response.leader) == (2, b.member_id)


def test_several_members_leave_with_one_rebalance() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    stable(harness, a, b)

    response = leave(
        harness,
        MemberIdentity(member_id=a.member_id),
        MemberIdentity(member_id="zz"),
        MemberIdentity(member_id=b.member_id),
    )

    assert codes_of(response) == [0, 25, 0]
    assert harness.group.generation == 2
    assert harness.group.is_empty


def test_static_member_is_removed_by_its_instance_id() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a", instance_id="i")
    stable(harness, a)

    response = leave(
        harness,
        MemberIdentity(member_id="", group_instance_id="zz"),
        MemberIdentity(member_id=""),
        MemberIdentity(member_id="zz", group_instance_id="i"),
        MemberIdentity(member_id="", group_instance_id="i"),
    )

    assert codes_of(response) == [25, 25, 82, 0]
    assert harness.group.is_empty


def test_id_that_has_not_joined_leaves_like_a_member() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    stable(harness, a)
    b.send_join()
    (b.member_id,) = harness.group.pending_joins

    assert codes_of(b.leave()) == [0]

    assert not harness.group.pending_joins
    assert harness.timer_in("classic-session", "g", b.member_id) is None
    assert harness.group.state is ClassicGroupState.PREPARING_REBALANCE


def test_id_that_leaves_an_empty_group_changes_nothing_else() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    a.send_join()
    (a.member_id,) = harness.group.pending_joins

    assert codes_of(a.leave()) == [0]

    assert harness.group.is_empty
    assert harness.group.generation == 0


def test_rebalance_is_completed_when_the_missing_member_leaves() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    stable(harness, a, b)
    ticket = a.join()
    assert harness.response(ticket) is None

    b.leave()

    assert a.joined(ticket).generation_id == 2


def test_requests_of_the_leaving_member_end_and_those_of_others_too() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    completing(harness, a, b)
    waiting = b.sync()
    c = Client(harness=harness, name="c", version=3)
    assert a.member_id == harness.group.leader_id

    a.leave()

    assert b.synced(waiting).error_code == 27
    joining = c.join()
    leave(harness, MemberIdentity(member_id=next(reversed(harness.group.members))))
    assert c.joined(joining).error_code == 25


def test_group_is_empty_also_when_its_record_is_rejected() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    stable(harness, a)
    records = len(harness.records)
    harness.reject(NotEnoughReplicasError())

    with pytest.raises(NotEnoughReplicasError):
        a.leave()

    assert len(harness.records) == records
    assert harness.group.is_empty
    assert harness.group.generation == 2


@pytest.mark.parametrize("version", (0, 1, 2))
def test_request_of_an_old_version_has_one_member(version: int) -> None:
    request = LeaveGroupRequest(group_id="g", member_id="m")

    assert leaving_members(request, version=version) == [MemberIdentity(member_id="m")]


@pytest.mark.parametrize(
    ("version", "code", "count"), ((0, 25, 0), (2, 25, 0), (3, 0, 1), (5, 0, 1))
)
def test_error_of_one_member_is_that_of_the_response_in_old_versions(
    version: int, code: int, count: int
) -> None:
    results = [MemberResponse(member_id="m", group_instance_id=None, error_code=25)]

    response = left(results, version=version)

    assert (response.error_code, len(response.members)) == (code, count)


def test_leave_of_a_missing_group_is_an_error_of_each_member() -> None:
    harness = ClassicHarness()

    assert codes_of(leave(harness, MemberIdentity(member_id="m"))) == [25]


def test_leave_without_a_group_id_is_an_error() -> None:
    harness = ClassicHarness()
    request = LeaveGroupRequest(group_id="")
    ticket = harness.ticket()

    harness.run(harness.groups.leave_group(request, ClientContext(5), ticket=ticket, now_ms=0))

    response = harness.response(ticket)
    assert isinstance(response, LeaveGroupResponse)
    assert response.error_code == 24
