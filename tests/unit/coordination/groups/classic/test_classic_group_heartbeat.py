"""A heartbeat keeps a member's session, and brings the members into a rebalance."""

from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from tests.unit.coordination.groups.classic.classic_samples import (
    ClassicHarness,
    Client,
    completing,
    stable,
)


def test_heartbeat_begins_the_session_again() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    stable(harness, a)
    harness.advance(9_000)

    assert a.heartbeat() == 0
    assert harness.timer_in("classic-session", "g", a.member_id) == 10_000


def test_heartbeat_is_accepted_before_the_assignments() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    completing(harness, a)

    assert harness.group.state is ClassicGroupState.COMPLETING_REBALANCE
    assert a.heartbeat() == 0


def test_heartbeat_in_a_rebalance_is_an_error_that_keeps_the_session() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    stable(harness, a)
    b.join()
    harness.advance(9_000)

    assert a.heartbeat() == 27
    assert harness.timer_in("classic-session", "g", a.member_id) == 10_000


def test_heartbeat_of_another_generation_is_refused() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    stable(harness, a)
    a.generation += 1

    assert a.heartbeat() == 22


def test_heartbeat_of_an_unknown_member_is_refused_before_the_generation() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    stable(harness, a)
    a.member_id, a.generation = "zz", 99

    assert a.heartbeat() == 25


def test_heartbeat_with_an_id_that_has_not_joined_is_refused() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    a.send_join()
    (a.member_id,) = harness.group.pending_joins
    a.generation = 0

    assert a.heartbeat() == 25
