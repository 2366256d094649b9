"""Timers of members are set once, or for one epoch."""

from cordwood.coordination.groups.consumer.member_timers import (
    JOIN,
    REBALANCE,
    SESSION,
    SYNC,
    MemberTimers,
    session_timer,
)
from cordwood.coordination.outcome import TimerChange


def test_session_timer_has_group_and_member() -> None:
    assert session_timer("g", "m", at_ms=5) == TimerChange((SESSION, "g", "m"), 5)


def test_rebalance_timer_counts_in_its_epoch() -> None:
    timers = MemberTimers()
    key = timers.rebalance("g", "m", epoch=3, at_ms=5).key

    assert key == (REBALANCE, "g", "m")
    assert not timers.expire(key, member_epoch=4)

    timers.rebalance("g", "m", epoch=3, at_ms=5)
    assert timers.expire(key, member_epoch=3)


def test_cancelled_rebalance_timer_has_no_epoch() -> None:
    timers = MemberTimers()
    timers.rebalance("g", "m", epoch=3, at_ms=5)

    assert timers.cancel_rebalance("g", "m") == TimerChange((REBALANCE, "g", "m"), None)
    assert timers.expire((REBALANCE, "g", "m"), member_epoch=9)


def test_join_timer_is_set_once_until_it_is_cancelled_or_fires() -> None:
    timers = MemberTimers()
    change = TimerChange((JOIN, "g", "m"), 5)

    assert timers.join_if_absent("g", "m", at_ms=5) == [change]
    assert timers.join_if_absent("g", "m", at_ms=9) == []

    assert timers.cancel_join("g", "m").at_ms is None
    assert timers.join_if_absent("g", "m", at_ms=5) == [change]

    assert timers.expire(change.key, member_epoch=1)
    assert timers.join_if_absent("g", "m", at_ms=5) == [change]


def test_sync_timer_is_set_and_cancelled() -> None:
    timers = MemberTimers()

    assert timers.sync("g", "m", at_ms=5) == TimerChange((SYNC, "g", "m"), 5)
    assert timers.cancel_sync("g", "m") == TimerChange((SYNC, "g", "m"), None)


def test_all_timers_of_a_member_are_cancelled() -> None:
    changes = MemberTimers().cancel_all("g", "m")

    assert [each.key[0] for each in changes] == [SESSION, REBALANCE, JOIN, SYNC]
    assert all(each.at_ms is None for each in changes)
