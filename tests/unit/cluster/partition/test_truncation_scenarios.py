"""The scenarios of KIP-101 and KIP-279: data are lost or diverge without leader epochs.

Each scenario runs with the rules that use epochs, and holds. With the rules without them it ends in
its damage, which shows that it needs the rule.
"""

from collections.abc import Callable

import pytest

from tests.unit.cluster.partition.memory_replicas import (
    FollowerProcess,
    MemoryReplica,
    TruncationRule,
)

ON_FETCH, BY_QUESTION = TruncationRule.ON_FETCH, TruncationRule.BY_QUESTION
END_ALONE, HIGH_WATERMARK = TruncationRule.END_ALONE, TruncationRule.HIGH_WATERMARK


class RecordLostError(AssertionError):
    """A record that was acknowledged is not in the log of the leader."""


class LogsDivergedError(AssertionError):
    """The logs of leader and follower have different records below both high watermarks."""


def ensure_kept(leader: MemoryReplica, *values: str) -> None:
    if not set(values) <= {*leader.values}:
        raise RecordLostError(leader)


def ensure_equal(leader: MemoryReplica, follower: MemoryReplica) -> None:
    if leader.records != follower.records:
        raise LogsDivergedError(f"{leader} and {follower}")


def replicate(leader: MemoryReplica, follower: FollowerProcess, *, min_isr: int = 2) -> None:
    """Copy the log; the high watermark of the leader follows the fetches, as with two in sync."""
    while leader.high_watermark < leader.log_end:
        offset = follower.round(leader)
        if offset is not None and min_isr > 1:
            leader.high_watermark = max(leader.high_watermark, offset)


def lose_data_after_a_restart(rule: TruncationRule) -> None:
    """KIP-101, scenario 1: a follower restarts, truncates, and is elected before it fetches."""
    a, b = MemoryReplica(rule), MemoryReplica(rule)
    a.lead(0)
    process = FollowerProcess(b, epoch=0)
    a.append("m1")
    replicate(a, process)
    a.append("m2")

    # The record is copied, and acknowledged by the next fetch. Its response, with the high
    # watermark 2, is lost: broker b restarts.
    process.round(a)
    process.request()
    a.high_watermark = 2
    assert (b.values, b.high_watermark) == (["m1", "m2"], 1)
    process = FollowerProcess(b, epoch=0)
    if rule in {BY_QUESTION, END_ALONE}:
        process.round(a)

    # Broker a fails before the first fetch of b, which is in sync and elected. Then a follows.
    b.lead(1)
    FollowerProcess(a, epoch=1).catch_up(b)

    ensure_kept(b, "m1", "m2")
    ensure_equal(b, a)


def diverge_after_a_power_failure(rule: TruncationRule) -> None:
    """KIP-101, scenario 2: all brokers fail, and one has lost records that were not synced."""
    a, b = MemoryReplica(rule), MemoryReplica(rule)
    a.lead(0)
    process = FollowerProcess(b, epoch=0)
    a.append("m1", "m2")
    replicate(a, process)

    # Broker b loses the end of its log, and is back first. It leads, and appends at the offset of
    # the record that is lost.
    b.truncate(1)
    b.lead(1)
    b.append("m3")
    b.high_watermark = b.log_end
    follower = FollowerProcess(a, epoch=1)
    b.append("m4")
    follower.catch_up(b)

    ensure_equal(b, a)


def diverge_after_two_elections(rule: TruncationRule) -> None:
    """KIP-279: the leader has more records of an old epoch than the follower.

    The end of the leader's epoch is beyond the records that the follower has of it. The answer is
    useful only with its epoch.
    """
    a, b = MemoryReplica(rule), MemoryReplica(rule)
    a.lead(0)
    process = FollowerProcess(b, epoch=0)
    a.append("m0")
    replicate(a, process)
    a.append("a1", "a2")

    # Broker a fails before b copies these. Alone in the ISR, b appends and acknowledges.
    b.lead(1)
    b.append("b1")
    b.high_watermark = b.log_end

    # Broker b fails, and a is elected uncleanly.
    a.lead(2)
    a.high_watermark = a.log_end
    FollowerProcess(b, epoch=2).catch_up(a)

    ensure_equal(a, b)


def diverge_after_three_elections(rule: TruncationRule) -> None:
    """KIP-279: the leader's answer has an epoch that the follower does not have.

    The follower truncates to the end of its largest epoch below, and asks again.
    """
    a, b = MemoryReplica(rule), MemoryReplica(rule)
    a.lead(0)
    process = FollowerProcess(b, epoch=0)
    a.append("m0")
    replicate(a, process)
    a.append("a1")

    # Broker a fails; b leads alone, and fails; a is elected uncleanly, and fails; then b again.
    b.lead(2)
    b.append("b1", "b2", "b3", "b4")
    b.high_watermark = b.log_end
    a.lead(3)
    a.append("a2")
    a.high_watermark = a.log_end
    b.lead(4)
    FollowerProcess(a, epoch=4).catch_up(b)

    ensure_equal(b, a)


Scenario = Callable[[TruncationRule], None]


@pytest.mark.parametrize("rule", (ON_FETCH, BY_QUESTION))
@pytest.mark.parametrize(
    "scenario",
    (
        lose_data_after_a_restart,
        diverge_after_a_power_failure,
        diverge_after_two_elections,
        diverge_after_three_elections,
    ),
)
def test_logs_are_equal_with_epochs(scenario: Scenario, rule: TruncationRule) -> None:
    scenario(rule)


@pytest.mark.parametrize(
    ("scenario", "damage"),
    (
        (lose_data_after_a_restart, RecordLostError),
        (diverge_after_a_power_failure, LogsDivergedError),
        (diverge_after_two_elections, LogsDivergedError),
        (diverge_after_three_elections, LogsDivergedError),
    ),
)
def test_truncation_to_the_high_watermark_damages_the_logs(
    scenario: Scenario, damage: type[AssertionError]
) -> None:
    with pytest.raises(damage):
        scenario(HIGH_WATERMARK)


@pytest.mark.parametrize("scenario", (lose_data_after_a_restart, diverge_after_a_power_failure))
def test_answers_without_epochs_are_enough_for_kip_101(scenario: Scenario) -> None:
    scenario(END_ALONE)


@pytest.mark.parametrize("scenario", (diverge_after_two_elections, diverge_after_three_elections))
def test_answers_without_epochs_diverge_in_kip_279(scenario: Scenario) -> None:
    with pytest.raises(LogsDivergedError):
        scenario(END_ALONE)
