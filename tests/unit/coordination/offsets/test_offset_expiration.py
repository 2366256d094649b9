"""Expiration of offsets, row by row of Kafka's rules."""

import pytest

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.offsets.committed_offset import CommittedOffset
from cordwood.coordination.offsets.offset_expiration import Retention
from cordwood.coordination.outcome import TimerChange
from cordwood.protocol.messages.internal import OffsetCommitKey, OffsetCommitValue
from tests.unit.coordination.offset_samples import (
    OffsetsUnderTest,
    commit_request,
    commit_value,
    consumers,
    txn_request,
)

RETENTION_MS = 1_000
INTERVAL_MS = 10_000


def expiring() -> OffsetsUnderTest:
    """Return offsets with a retention of a second."""
    return OffsetsUnderTest(
        GroupSettings(
            offsets_retention_ms=RETENTION_MS, offsets_retention_check_interval_ms=INTERVAL_MS
        )
    )


def expired_at(offsets: OffsetsUnderTest, now_ms: int) -> list[CoordinatorRecord]:
    """Return the records of a check."""
    return offsets.manager.on_timer(("offsets", "check"), now_ms).records


def kinds(records: list[CoordinatorRecord]) -> list[int]:
    return [each.type for each in records]


@pytest.mark.parametrize(("now_ms", "ended"), ((999, False), (1_000, True), (1_001, True)))
def test_retention_ends_after_its_whole_time(now_ms: int, *, ended: bool) -> None:
    offset = CommittedOffset.of(commit_value(1), 0)

    assert Retention(now_ms, RETENTION_MS).has_ended(offset, 0) == ended


@pytest.mark.parametrize(("now_ms", "ended"), ((29, False), (30, True)))
def test_expire_time_of_the_commit_counts_alone(now_ms: int, *, ended: bool) -> None:
    value = OffsetCommitValue(offset=1, metadata="", commit_timestamp=0, expire_timestamp=30)
    offset = CommittedOffset.of(value, 0)

    assert Retention(now_ms, 0).has_ended(offset, 0) == ended


def test_simple_group_expires_by_commit_times_and_ends_with_its_last_offset() -> None:
    offsets = expiring()
    offsets.commit(commit_request(("orders", 0, 5)))
    offsets.now_ms = 500
    offsets.commit(commit_request(("orders", 1, 6)))

    assert kinds(expired_at(offsets, 1_499)) == [1]
    assert kinds(expired_at(offsets, 1_500)) == [1, 1, 2]


def test_empty_group_expires_from_the_time_it_became_empty() -> None:
    offsets = expiring()
    offsets.commit(commit_request(("orders", 0, 5)))
    group = consumers()
    group.remove("m")
    group.state, group.state_timestamp_ms = ClassicGroupState.EMPTY, 5_000
    offsets.groups.put(group)

    assert not expired_at(offsets, 5_999)
    assert kinds(expired_at(offsets, 6_000)) == [1, 2]


def test_stable_group_expires_offsets_of_unsubscribed_topics_alone() -> None:
    offsets = expiring()
    offsets.groups.put(consumers("g", "orders"))
    offsets.commit(commit_request(("orders", 0, 5), ("payments", 0, 6), epoch=1, member_id="m"))

    (record,) = expired_at(offsets, 1_000)

    assert record.key == OffsetCommitKey(group="g", topic="payments", partition=0)


@pytest.mark.parametrize(
    "state", (ClassicGroupState.PREPARING_REBALANCE, ClassicGroupState.COMPLETING_REBALANCE)
)
def test_rebalancing_group_keeps_its_offsets(state: ClassicGroupState) -> None:
    offsets = expiring()
    offsets.commit(commit_request(("payments", 0, 6)))
    group = consumers("g", "orders")
    group.state = state
    offsets.groups.put(group)

    assert not expired_at(offsets, 1_000_000)


def test_partition_with_a_pending_offset_is_kept() -> None:
    offsets = expiring()
    offsets.commit(commit_request(("orders", 0, 5), ("orders", 1, 5)))
    offsets.commit_transactional(txn_request(("orders", 0, 6)))

    assert kinds(expired_at(offsets, 1_000)) == [1]

    offsets.end(7, is_commit=False)
    assert kinds(expired_at(offsets, 1_000)) == [1, 1, 2]


def test_group_with_a_pending_offset_alone_is_kept() -> None:
    offsets = expiring()
    offsets.commit_transactional(txn_request(("orders", 0, 6)))

    assert not expired_at(offsets, 1_000_000)
    offsets.end(7, is_commit=False)
    assert kinds(expired_at(offsets, 0)) == [2]


def test_next_check_follows_after_the_interval() -> None:
    offsets = expiring()
    check = ("offsets", "check")

    assert offsets.manager.finish_load(5).timers == [TimerChange(check, 5 + INTERVAL_MS)]
    assert offsets.manager.on_timer(check, 7).timers == [TimerChange(check, 7 + INTERVAL_MS)]


def test_large_round_is_cut_into_parts() -> None:
    offsets = expiring()
    group_ids = [f"{number}".zfill(500) for number in range(100)]
    for group_id in group_ids:
        offsets.commit(commit_request(("orders", 0, 5), group_id=group_id))

    first = offsets.apply(offsets.manager.on_timer(("offsets", "check"), 1_000))
    second = offsets.apply(offsets.manager.on_timer(first.timers[0].key, 1_000))

    assert first.timers == [TimerChange(("offsets", "expire"), 1_000)]
    assert second.timers == [TimerChange(("offsets", "check"), 1_000 + INTERVAL_MS)]
    assert 100 < len(first.records) < 200
    assert not offsets.groups.by_id


def test_large_group_ends_with_its_last_part() -> None:
    offsets = expiring()
    group_id = "g" * 15_000
    for partition in range(4):
        offsets.commit(commit_request(("orders", partition, 5), group_id=group_id))

    first = offsets.apply(offsets.manager.on_timer(("offsets", "check"), 1_000))
    second = offsets.apply(offsets.manager.on_timer(first.timers[0].key, 1_000))

    assert kinds(first.records) == [1, 1, 1]
    assert kinds(second.records) == [1, 2]
