"""JoinGroup in every state of a group."""

import pytest

from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.core.errors import NotCoordinatorError
from tests.unit.coordination.groups.classic.classic_samples import (
    ClassicHarness,
    Client,
    completing,
    stable,
)


@pytest.mark.parametrize("version", range(4, 10))
def test_member_without_an_id_gets_one_to_join_with(version: int) -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a", version=version)

    response = a.joined(a.send_join())

    assert response.error_code == 79
    assert response.member_id.startswith("a-")
    assert harness.group.pending_joins == {response.member_id}
    assert harness.timer_in("classic-session", "g", response.member_id) == 10_000


@pytest.mark.parametrize("version", range(4))
def test_member_without_an_id_is_added_at_once_in_old_versions(version: int) -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a", version=version)

    ticket = a.send_join()
    harness.advance(3_000)

    assert a.joined(ticket).generation_id == 1


def test_static_member_is_added_without_a_second_join() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a", instance_id="i")

    ticket = a.send_join()
    harness.advance(3_000)

    assert a.joined(ticket).member_id.startswith("i-")


def test_id_that_was_not_used_is_forgotten_after_its_session_timeout() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    a.member_id = a.joined(a.send_join()).member_id

    harness.advance(10_000)

    assert not harness.group.pending_joins
    assert a.joined(a.send_join()).error_code == 25


def test_id_that_was_given_out_cannot_become_static() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    a.member_id = a.joined(a.send_join()).member_id
    a.instance_id = "i"

    assert a.joined(a.send_join()).error_code == -1


@pytest.mark.parametrize(
    ("protocol_type", "protocols"),
    (("connect", {"range": b""}), ("consumer", {"sticky": b""}), ("consumer", {})),
)
def test_member_without_a_shared_protocol_is_refused(
    protocol_type: str, protocols: dict[str, bytes]
) -> None:
    harness = ClassicHarness()
    stable(harness, Client(harness=harness, name="a"))
    b = Client(harness=harness, name="b", protocol_type=protocol_type, protocols=protocols)

    response = b.joined(b.send_join())

    assert (response.error_code, response.member_id) == (23, "")


def test_members_vote_on_the_protocol() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a", protocols={"sticky": b"s", "range": b"r"})
    b = Client(harness=harness, name="b", protocols={"range": b"R", "sticky": b"S"})
    c = Client(harness=harness, name="c", protocols={"range": b"q"})

    completing(harness, a, b, c)

    assert harness.group.protocol_name == "range"


def test_leader_gets_the_members_and_followers_do_not() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a", protocols={"range": b"r"})
    b = Client(harness=harness, name="b", protocols={"range": b"R"})
    tickets = [a.join(), b.join()]

    harness.advance(6_000)

    leader, follower = a.joined(tickets[0]), b.joined(tickets[1])
    assert leader.leader == follower.leader == a.member_id
    assert [(each.member_id, each.metadata) for each in leader.members] == [
        (a.member_id, b"r"),
        (b.member_id, b"R"),
    ]
    assert follower.members == []


def test_follower_without_changes_gets_the_generation_again() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    stable(harness, a, b)

    response = b.joined(b.join())

    assert (response.generation_id, response.leader) == (1, a.member_id)
    assert harness.group.state is ClassicGroupState.STABLE


def test_follower_with_other_metadata_begins_a_rebalance() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    stable(harness, a, b)
    b.protocols = {"range": b"other"}

    assert harness.response(b.join()) is None
    assert harness.group.state is ClassicGroupState.PREPARING_REBALANCE


def test_leader_begins_a_rebalance_also_without_changes() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    stable(harness, a, b)

    assert harness.response(a.join()) is None
    assert harness.group.state is ClassicGroupState.PREPARING_REBALANCE


def test_member_that_lost_its_response_gets_it_again_before_the_assignments() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    completing(harness, a, b)

    leader, follower = a.joined(a.join()), b.joined(b.join())

    assert (len(leader.members), len(follower.members)) == (2, 0)
    assert leader.generation_id == follower.generation_id == 1
    assert harness.group.state is ClassicGroupState.COMPLETING_REBALANCE


def test_other_metadata_before_the_assignments_begins_a_rebalance() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    completing(harness, a, b)
    waiting = b.sync()
    a.protocols = {"range": b"other"}

    a.join()

    assert b.synced(waiting).error_code == 27
    assert harness.group.state is ClassicGroupState.PREPARING_REBALANCE


def test_single_member_cannot_change_to_a_protocol_that_it_did_not_have() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    stable(harness, a)
    a.protocols = {"sticky": b""}

    assert a.joined(a.join()).error_code == 23


def test_member_of_a_group_that_has_become_empty_is_unknown() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a")
    stable(harness, a)
    harness.advance(10_000)

    assert a.joined(a.join()).error_code == 25


def test_generation_of_an_empty_group_goes_on() -> None:
    harness = ClassicHarness()
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b")
    stable(harness, a)
    a.leave()

    stable(harness, b)

    assert b.generation == 3


def test_group_takes_no_more_members_than_its_size() -> None:
    harness = ClassicHarness(GroupSettings(max_size=1))
    a, b = Client(harness=harness, name="a"), Client(harness=harness, name="b", version=3)
    stable(harness, a)

    response = b.joined(b.join())

    assert (response.error_code, response.member_id) == (81, "")
    assert a.heartbeat() == 0


def test_members_above_the_size_are_refused_during_the_rebalance() -> None:
    harness = ClassicHarness(GroupSettings(max_size=2))
    a, b, c = (Client(harness=harness, name=name) for name in "abc")
    tickets = [a.join(), b.join()]
    c.member_id = c.joined(c.send_join()).member_id

    assert c.joined(c.send_join()).error_code == 81
    harness.advance(9_000)
    assert a.joined(tickets[0]).generation_id == 1


def test_last_members_of_a_group_that_has_become_too_large_are_removed() -> None:
    harness = ClassicHarness()
    a, b, c = (Client(harness=harness, name=name) for name in "abc")
    stable(harness, a, b, c)
    harness.settings = GroupSettings(max_size=2)
    harness.reload()
    tickets = [a.join(), b.join()]

    assert c.joined(c.join()).error_code == 81
    assert a.joined(tickets[0]).generation_id == 2
    assert set(harness.group.members) == {a.member_id, b.member_id}


def test_group_that_cannot_be_stored_is_forgotten() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a", version=3)
    harness.reject(NotCoordinatorError())

    response = a.joined(a.send_join())

    assert (response.error_code, response.member_id) == (16, "")
    assert not len(harness.registry)
    assert not harness.timers
