"""A restarted static member takes its place again."""

import pytest

from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.core.errors import NotCoordinatorError
from tests.unit.coordination.groups.classic.classic_samples import (
    ClassicHarness,
    Client,
    completing,
    stable,
)


def static(harness: ClassicHarness, name: str, *, version: int = 9) -> Client:
    return Client(harness=harness, name=name, instance_id=f"i-{name}", version=version)


def restarted(client: Client) -> Client:
    """Return the same instance without a member id."""
    return Client(
        harness=client.harness,
        name=client.name,
        instance_id=client.instance_id,
        version=client.version,
    )


def test_stable_group_keeps_its_generation() -> None:
    harness = ClassicHarness()
    a, b = static(harness, "a"), static(harness, "b")
    stable(harness, a, b)
    new = restarted(b)

    response = new.joined(new.join())

    assert (response.error_code, response.generation_id) == (0, 1)
    assert new.member_id != b.member_id
    assert harness.group.state is ClassicGroupState.STABLE
    assert new.synced(new.sync()).assignment == b"b"


def test_member_that_returns_before_its_sync_keeps_its_place_at_the_end_of_the_time() -> None:
    harness = ClassicHarness()
    a, b = static(harness, "a"), static(harness, "b")
    completing(harness, a, b)
    a.sync({"a": b"a", "b": b"b"})
    new = restarted(b)
    new.joined(new.join())

    codes = list[tuple[int, int]]()
    for _ in range(7):
        harness.advance(9_000)
        codes.append((a.heartbeat(), new.heartbeat()))

    assert codes[-1] == (27, 27)
    assert harness.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert new.member_id in harness.group.members


def test_old_id_is_fenced() -> None:
    harness = ClassicHarness()
    a = static(harness, "a")
    stable(harness, a)
    new = restarted(a)
    new.joined(new.join())

    assert a.heartbeat() == 82
    assert a.synced(a.sync()).error_code == 82
    assert a.joined(a.join()).error_code == 82
    assert new.heartbeat() == 0


def test_new_id_is_in_the_record_with_the_old_assignment() -> None:
    harness = ClassicHarness()
    a = static(harness, "a")
    stable(harness, a)
    new = restarted(a)

    new.joined(new.join())

    (member,) = harness.last_value.members
    assert (member.member_id, member.group_instance_id) == (new.member_id, "i-a")
    assert member.assignment == b"a"
    assert harness.last_value.leader == new.member_id


def test_session_of_the_old_id_ends_with_it() -> None:
    harness = ClassicHarness()
    a = static(harness, "a")
    stable(harness, a)
    new = restarted(a)

    new.joined(new.join())

    assert harness.timer_in("classic-session", "g", a.member_id) is None
    assert harness.timer_in("classic-session", "g", new.member_id) == 10_000


@pytest.mark.parametrize("version", (5, 8))
def test_restarted_leader_gets_its_old_id_as_the_leader_in_old_versions(version: int) -> None:
    harness = ClassicHarness()
    a, b = static(harness, "a", version=version), static(harness, "b")
    stable(harness, a, b)
    new = restarted(a)

    response = new.joined(new.join())

    assert (response.leader, response.members) == (a.member_id, [])
    assert not response.skip_assignment


def test_restarted_leader_stays_leader_and_skips_the_assignment() -> None:
    harness = ClassicHarness()
    a, b = static(harness, "a"), static(harness, "b")
    stable(harness, a, b)
    new = restarted(a)

    response = new.joined(new.join())

    assert response.skip_assignment
    assert response.leader == new.member_id
    assert {each.member_id for each in response.members} == {new.member_id, b.member_id}


def test_restarted_follower_does_not_skip_an_assignment() -> None:
    harness = ClassicHarness()
    a, b = static(harness, "a"), static(harness, "b")
    stable(harness, a, b)
    new = restarted(b)

    response = new.joined(new.join())

    assert not response.skip_assignment
    assert (response.leader, response.members) == (a.member_id, [])


def test_stable_group_rebalances_when_the_vote_changes() -> None:
    harness = ClassicHarness()
    both = {"range": b"", "sticky": b""}
    a, b = static(harness, "a"), static(harness, "b")
    a.protocols = b.protocols = both
    stable(harness, a, b)
    new = restarted(b)
    new.protocols = {"sticky": b""}

    assert harness.response(new.join()) is None
    assert harness.group.state is ClassicGroupState.PREPARING_REBALANCE


def test_other_metadata_alone_does_not_begin_a_rebalance() -> None:
    harness = ClassicHarness()
    a = static(harness, "a")
    stable(harness, a)
    new = restarted(a)
    new.protocols = {"range": b"other"}

    assert new.joined(new.join()).generation_id == 1
    assert harness.last_value.members[0].subscription == b"other"


def test_group_without_assignments_rebalances() -> None:
    harness = ClassicHarness()
    a, b = static(harness, "a"), static(harness, "b")
    completing(harness, a, b)
    waiting = b.sync()
    new = restarted(b)

    joining = new.join()

    assert b.synced(waiting).error_code == 82
    assert harness.group.state is ClassicGroupState.PREPARING_REBALANCE
    a.join()
    assert new.joined(joining).generation_id == 2


def test_rebalance_goes_on_with_the_new_id() -> None:
    harness = ClassicHarness()
    a, b = static(harness, "a"), static(harness, "b")
    stable(harness, a, b)
    waiting = a.join()
    new = restarted(a)
    joining = new.join()

    response = a.joined(waiting)
    assert (response.error_code, response.member_id) == (82, a.member_id)
    b.joined(b.join())

    assert new.joined(joining).generation_id == 2
    assert new.leader_id == new.member_id


def test_place_is_given_back_when_the_record_is_rejected() -> None:
    harness = ClassicHarness()
    a = static(harness, "a")
    stable(harness, a)
    new = restarted(a)
    new.session_timeout_ms = 30_000
    harness.reject(NotCoordinatorError())

    response = new.joined(new.join())

    assert (response.error_code, response.member_id, response.generation_id) == (16, "", 1)
    assert list(harness.group.members) == [a.member_id]
    assert harness.group.leader_id == a.member_id
    assert harness.group.members[a.member_id].session_timeout_ms == 10_000
    assert harness.timer_in("classic-session", "g", a.member_id) == 10_000
    assert a.heartbeat() == 0


def test_later_record_of_the_group_is_replayed_after_a_rejected_one() -> None:
    harness = ClassicHarness()
    a = static(harness, "a")
    stable(harness, a)
    harness.reject(NotCoordinatorError())
    restarted(a).join()
    new = restarted(a)
    new.joined(new.join())

    harness.reload()

    assert list(harness.group.members) == [new.member_id]
    assert harness.group.assignments == {new.member_id: b"a"}
