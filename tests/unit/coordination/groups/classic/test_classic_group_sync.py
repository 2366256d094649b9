"""SyncGroup distributes the leader's assignments to all members."""

import pytest

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.outcome import CoordinatorEvent, EventCount
from cordwood.core.errors import NotCoordinatorError
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.unit.coordination.groups.classic.classic_samples import (
    ClassicHarness,
    Client,
    completing,
    stable,
)


def sync(harness: ClassicHarness, client: Client, **fields: str | int | None) -> int:
    """Send SyncGroup of version 5 with other fields, and return the error code."""
    values = {
        "group_id": "g",
        "generation_id": client.generation,
        "member_id": client.member_id,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": [],
    }
    request = SyncGroupRequest(**(values | fields))  # type: ignore[arg-type]  # by name
    ticket = harness.ticket()
    context = ClientContext(5, client.name)
    harness.run(harness.groups.sync_group(request, context, ticket=ticket, now_ms=harness.now_ms))
    response = harness.response(ticket)
    assert isinstance(response, SyncGroupResponse)
    return response.error_code


def test_members_wait_for_the_leader() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    completing(harness, a, b)

    waiting = b.sync()
    assert harness.response(waiting) is None
    leading = a.sync({a.member_id: b"p0", b.member_id: b"p1"})

    assert a.synced(leading).assignment == b"p0"
    assert b.synced(waiting).assignment == b"p1"
    assert harness.group.state is ClassicGroupState.STABLE


def test_assignments_are_in_the_record() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    completing(harness, a, b)

    a.sync({b.member_id: b"p1", "zz": b"p9"})

    stored = {each.member_id: each.assignment for each in harness.last_value.members}
    assert stored == {a.member_id: b"", b.member_id: b"p1"}
    assert harness.group.assignments == stored


def test_member_that_syncs_late_gets_its_assignment_at_once() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    completing(harness, a, b)
    a.sync({b.member_id: b"p1"})

    assert b.synced(b.sync()).assignment == b"p1"


def test_session_begins_again_with_the_assignment() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    completing(harness, a, b)
    b.sync()
    harness.advance(9_000)
    a.heartbeat()
    harness.advance(9_000)  # the session of b has ended while its sync waited

    a.sync({})

    assert harness.timer_in("classic-session", "g", b.member_id) == 10_000


@pytest.mark.parametrize(
    ("fields", "code"),
    (
        ({"group_id": ""}, 24),
        ({"group_id": "zz"}, 25),
        ({"member_id": "zz"}, 25),
        ({"member_id": "zz", "generation_id": 9}, 25),
        ({"group_instance_id": "zz"}, 25),
        ({"generation_id": 2}, 22),
        ({"generation_id": 2, "protocol_name": "zz"}, 22),
        ({"protocol_type": "connect"}, 23),
        ({"protocol_name": "sticky"}, 23),
        ({"protocol_type": None}, 23),
        ({"protocol_name": None}, 23),
        ({}, 0),
    ),
)
def test_sync_is_validated(fields: dict[str, str | int | None], code: int) -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    stable(harness, a)

    assert sync(harness, a, **fields) == code


def test_sync_in_a_rebalance_is_an_error() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    stable(harness, a)
    b.join()

    assert a.synced(a.sync({})).error_code == 27


def test_sync_in_an_empty_group_is_of_an_unknown_member() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    stable(harness, a)
    a.leave()

    assert a.synced(a.sync({})).error_code == 25


def test_members_rebalance_when_the_assignments_cannot_be_stored() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    completing(harness, a, b)
    waiting = b.sync()
    harness.reject(NotCoordinatorError())

    leading = a.sync({a.member_id: b"p0"})

    assert a.synced(leading).error_code == b.synced(waiting).error_code == 16
    assert harness.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert not any(harness.group.assignments.values())
    assert harness.timer_in("classic-join", "g") == 60_000


def test_assignments_of_the_leader_are_a_rebalance() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    completing(harness, a, b)
    before = [*harness.events]

    a.sync({a.member_id: b"p0"})
    b.sync()

    assert (before, harness.events) == ([], [EventCount(CoordinatorEvent.CLASSIC_REBALANCE)])
