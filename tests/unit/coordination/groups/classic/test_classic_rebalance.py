"""A rebalance, from its begin to the next generation, and its timers."""

from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.core.errors import NotCoordinatorError
from tests.unit.coordination.groups.classic.classic_samples import (
    ClassicHarness,
    Client,
    completing,
    stable,
)

SYNC_TIMER = ("classic-sync", "g")
JOIN_TIMER = ("classic-join", "g")


def clients(harness: ClassicHarness, names: str, **fields: int) -> list[Client]:
    return [Client(harness=harness, name=name, **fields) for name in names]  # type: ignore[arg-type]  # by name


def test_first_generation_waits_for_the_initial_delay() -> None:
    harness = ClassicHarness()
    (a,) = clients(harness, "a")

    ticket = a.join()
    harness.advance(2_999)
    assert harness.response(ticket) is None
    harness.advance(1)

    assert a.joined(ticket).generation_id == 1
    assert harness.group.state is ClassicGroupState.COMPLETING_REBALANCE


def test_initial_delay_is_extended_by_each_member_that_joins() -> None:
    harness = ClassicHarness()
    a, b, c = clients(harness, "abc")
    tickets = [a.join()]
    harness.advance(2_000)
    tickets.append(b.join())
    harness.advance(3_000)  # the delay has been extended once, at 3 s
    tickets.append(c.join())

    harness.advance(1_000)  # extended again, at 6 s
    harness.advance(2_999)
    assert harness.response(tickets[0]) is None
    harness.advance(1)

    assert [harness.response(each) is None for each in tickets] == [False] * 3
    assert len(harness.group.members) == 3


def test_initial_delay_is_not_extended_beyond_the_rebalance_timeout() -> None:
    harness = ClassicHarness()
    first, *others = clients(harness, "abcde", rebalance_timeout_ms=7_000)
    tickets = [first.join()]
    for client in others:
        harness.advance(1_500)
        tickets.append(client.join())

    harness.advance(999)
    assert harness.response(tickets[0]) is None
    harness.advance(1)

    assert first.joined(tickets[0]).generation_id == 1
    assert len(harness.group.members) == 5


def test_initial_delay_of_zero_begins_the_generation_with_the_timer() -> None:
    harness = ClassicHarness(GroupSettings(initial_rebalance_delay_ms=0))
    (a,) = clients(harness, "a")

    ticket = a.join()
    assert harness.response(ticket) is None
    harness.advance(0)

    assert a.joined(ticket).generation_id == 1


def test_later_rebalance_ends_with_the_last_join() -> None:
    harness = ClassicHarness()
    a, b = clients(harness, "ab")
    stable(harness, a)
    ticket = b.join()
    assert harness.response(ticket) is None

    a.joined(a.join())

    assert b.joined(ticket).generation_id == 2
    assert harness.timer_in(*JOIN_TIMER) is None


def test_member_that_has_not_joined_is_removed_after_the_rebalance_timeout() -> None:
    harness = ClassicHarness()
    a, b = clients(harness, "ab", session_timeout_ms=300_000)
    stable(harness, a)
    ticket = b.join()

    harness.advance(60_000)

    assert b.joined(ticket).leader == b.member_id
    assert list(harness.group.members) == [b.member_id]
    assert a.heartbeat() == 25


def test_rebalance_waits_for_an_id_that_was_given_out_until_its_session_ends() -> None:
    harness = ClassicHarness()
    a, b, c = clients(harness, "abc")
    stable(harness, a)
    c.send_join()
    tickets = [b.join(), a.join()]
    assert harness.response(tickets[0]) is None

    harness.advance(10_000)

    assert a.joined(tickets[1]).generation_id == 2
    assert not harness.group.pending_joins


def test_static_member_that_has_not_joined_stays() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a", instance_id="i", session_timeout_ms=300_000)
    b = Client(harness=harness, name="b")
    stable(harness, a)
    ticket = b.join()

    harness.advance(60_000)

    assert b.joined(ticket).generation_id == 2
    assert set(harness.group.members) == {a.member_id, b.member_id}
    assert harness.group.leader_id == b.member_id


def test_rebalance_goes_on_when_only_absent_static_members_are_left() -> None:
    harness = ClassicHarness()
    a = Client(harness=harness, name="a", instance_id="i", session_timeout_ms=90_000)
    b = Client(harness=harness, name="b")
    stable(harness, a, b)
    b.leave()

    harness.advance(60_000)
    assert harness.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert harness.timer_in(*JOIN_TIMER) == 60_000
    harness.advance(30_000)

    assert harness.group.is_empty


def test_members_that_do_not_sync_are_removed() -> None:
    harness = ClassicHarness()
    a, b = clients(harness, "ab", session_timeout_ms=300_000)
    completing(harness, a, b)
    waiting = a.sync({a.member_id: b"p0", b.member_id: b"p1"})
    assert a.synced(waiting).assignment == b"p0"

    harness.advance(60_000)

    assert list(harness.group.members) == [a.member_id]
    assert harness.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert (a.heartbeat(), b.heartbeat()) == (27, 25)


def test_waiting_members_join_again_when_the_leader_does_not_sync() -> None:
    harness = ClassicHarness()
    a, b = clients(harness, "ab", session_timeout_ms=300_000)
    completing(harness, a, b)
    waiting = b.sync()

    harness.advance(60_000)

    assert b.synced(waiting).error_code == 27
    assert b.joined(b.join()).leader == b.member_id


def test_sync_timer_ends_with_the_last_sync() -> None:
    harness = ClassicHarness()
    a, b = clients(harness, "ab")
    completing(harness, a, b)
    b.sync()
    assert harness.timer_in(*SYNC_TIMER) is not None

    a.sync({})

    assert harness.timer_in(*SYNC_TIMER) is None


def test_silent_member_is_removed_after_its_session_timeout() -> None:
    harness = ClassicHarness()
    a, b = clients(harness, "ab")
    stable(harness, a, b)
    harness.advance(9_000)
    a.heartbeat()

    harness.advance(1_000)

    assert list(harness.group.members) == [a.member_id]
    assert a.heartbeat() == 27


def test_session_does_not_end_while_a_request_waits() -> None:
    harness = ClassicHarness()
    a, b = clients(harness, "ab")
    stable(harness, a, b)
    ticket = a.join()

    harness.advance(9_999)
    b.heartbeat()
    harness.advance(9_000)
    assert a.member_id in harness.group.members
    b.join()

    assert a.joined(ticket).generation_id == 2


def test_new_member_that_waits_is_removed_after_five_minutes() -> None:
    harness = ClassicHarness()
    a, b = clients(harness, "ab", rebalance_timeout_ms=900_000)
    stable(harness, a)
    ticket = b.join()
    for _ in range(60):
        harness.advance(5_000)
        a.heartbeat()

    assert b.joined(ticket).error_code == 25
    assert list(harness.group.members) == [a.member_id]


def test_failed_record_of_an_empty_group_is_not_repeated() -> None:
    harness = ClassicHarness()
    (a,) = clients(harness, "a")
    stable(harness, a)
    harness.reject(NotCoordinatorError())

    harness.advance(10_000)

    assert harness.group.is_empty
    assert harness.group.generation == 2
    assert harness.last_value.generation == 1


def test_timers_of_a_group_that_has_moved_on_change_nothing() -> None:
    harness = ClassicHarness()
    (a,) = clients(harness, "a")
    stable(harness, a)

    for key in (JOIN_TIMER, SYNC_TIMER, ("classic-session", "g", "zz"), ("classic-join", "zz")):
        harness.run(harness.groups.on_timer(key, harness.now_ms))

    assert harness.group.state is ClassicGroupState.STABLE
    assert a.heartbeat() == 0
