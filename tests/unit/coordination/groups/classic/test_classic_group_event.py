"""An event gathers answers, timers and the records of one group."""

from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_event import ClassicGroupEvent
from cordwood.coordination.groups.classic.classic_group_member import WaitingJoin
from cordwood.coordination.groups.classic.group_metadata_record import created_value
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.outcome import Ticket, TimerChange
from cordwood.core.errors import NotCoordinatorError
from cordwood.protocol.messages.join_group import JoinGroupResponse
from cordwood.protocol.messages.sync_group import SyncGroupResponse
from tests.unit.coordination.groups.classic.test_classic_group import group_of, member_of


def event_of(group: ClassicGroup, *, now_ms: int = 1_000) -> ClassicGroupEvent:
    return ClassicGroupEvent(group, GroupSettings(), now_ms=now_ms)


def codes_of(event: ClassicGroupEvent) -> list[tuple[int, int]]:
    """Return the tickets that are answered, with their error codes."""
    codes = list[tuple[int, int]]()
    for ticket, response in event.outcome.answers:
        assert isinstance(response, JoinGroupResponse | SyncGroupResponse)
        codes.append((ticket, response.error_code))
    return codes


def test_session_ends_after_the_timeout_of_the_member() -> None:
    event = event_of(group_of(member_of("a")))

    event.start_session("a")
    event.start_session("p", 6_000)
    event.stop_session("a")

    assert event.outcome.timers == [
        TimerChange(("classic-session", "g", "a"), 11_000),
        TimerChange(("classic-session", "g", "p"), 7_000),
        TimerChange(("classic-session", "g", "a"), None),
    ]


def test_group_has_one_timer_for_joins_and_one_for_syncs() -> None:
    event = event_of(group_of())

    event.set_join_timer(5)
    event.set_sync_timer(None)

    assert event.outcome.timers == [
        TimerChange(("classic-join", "g"), 1_005),
        TimerChange(("classic-sync", "g"), None),
    ]


def test_second_join_of_a_member_ends_the_first_one() -> None:
    event = event_of(group_of(member_of("a")))

    event.wait_for_join("a", WaitingJoin(Ticket(1), 9))
    event.wait_for_join("a", WaitingJoin(Ticket(2), 9))

    assert codes_of(event) == [(1, 27)]
    assert event.group.waiting_joins == {"a": WaitingJoin(Ticket(2), 9)}


def test_second_sync_of_a_member_ends_the_first_one() -> None:
    event = event_of(group_of(member_of("a")))

    event.wait_for_sync("a", Ticket(1))
    event.wait_for_sync("a", Ticket(2))

    assert codes_of(event) == [(1, 27)]
    assert event.group.waiting_syncs == {"a": Ticket(2)}


def test_requests_of_a_removed_member_end_as_those_of_an_unknown_one() -> None:
    event = event_of(group_of(member_of("a"), member_of("b")))
    event.wait_for_join("a", WaitingJoin(Ticket(1), 9))
    event.wait_for_sync("b", Ticket(2))

    event.remove_member("a")
    event.remove_member("b")

    assert codes_of(event) == [(1, 25), (2, 25)]
    assert not event.group.members


def test_rejected_append_is_an_event_with_its_own_time_and_the_same_timers() -> None:
    group = group_of(member_of("a"))
    event = event_of(group)
    errors = []
    event.append(
        created_value(group),
        lambda failed, error: errors.append((failed.group, failed.now_ms, error.code)),
    )
    event.start_session("a")

    assert event.outcome.on_failure is not None
    follow = event.outcome.on_failure(NotCoordinatorError(), 2_000)

    assert errors == [(group, 2_000, 16)]
    assert follow.timers == event.outcome.timers
    assert not follow.records
