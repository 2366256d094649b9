"""Tests of the steps of a follower: where its log and its leader's agree."""

import pytest

from cordwood.cluster.partition.truncation import (
    AskEpoch,
    FetchFrom,
    FollowerLog,
    StartAt,
    TruncateTo,
    bounds_after_fetch,
    first_step,
    next_fetch,
    step_after_epoch_end,
    step_after_log_end,
    step_after_log_start,
)
from cordwood.core.types import LeaderEpoch, Offset
from cordwood.storage.checkpoints.leader_epoch_cache import (
    UNKNOWN_END,
    EpochEnd,
    EpochEntry,
    LeaderEpochCache,
)

#: Epoch 1 wrote 5..9, epoch 3 wrote 10..19, epoch 6 wrote 20..29.
EPOCHS = ((1, 5), (3, 10), (6, 20))


def log(
    *epochs: tuple[int, int], start: int = 5, end: int = 30, high_watermark: int = 12
) -> FollowerLog:
    cache = LeaderEpochCache(
        EpochEntry(LeaderEpoch(epoch), Offset(offset)) for epoch, offset in epochs
    )
    return FollowerLog(cache, start, end, high_watermark)


def ends(epoch: int, offset: int) -> EpochEnd:
    return EpochEnd(LeaderEpoch(epoch), Offset(offset))


# -- the first step


def test_follower_fetches_at_once_if_the_leader_detects_divergence() -> None:
    assert first_step(log(*EPOCHS), detects_on_fetch=True) == FetchFrom(30, LeaderEpoch(6))


def test_follower_asks_for_its_latest_epoch_otherwise() -> None:
    assert first_step(log(*EPOCHS), detects_on_fetch=False) == AskEpoch(LeaderEpoch(6))


@pytest.mark.parametrize("detects", (True, False))
def test_records_without_epochs_are_truncated_to_the_high_watermark(*, detects: bool) -> None:
    assert first_step(log(), detects_on_fetch=detects) == TruncateTo(12)


@pytest.mark.parametrize("detects", (True, False))
def test_log_without_records_and_epochs_is_fetched(*, detects: bool) -> None:
    empty = log(start=7, end=7, high_watermark=7)

    assert first_step(empty, detects_on_fetch=detects) == FetchFrom(7, LeaderEpoch(-1))


def test_next_fetch_continues_the_log() -> None:
    assert next_fetch(log(*EPOCHS)) == FetchFrom(30, LeaderEpoch(6))


# -- the end of an epoch


@pytest.mark.parametrize(
    ("leader_end", "step"),
    (
        # Both have the epoch: the smaller one of its ends.
        (ends(6, 25), TruncateTo(25)),
        (ends(6, 40), TruncateTo(30)),
        (ends(3, 15), TruncateTo(15)),
        (ends(3, 25), TruncateTo(20)),
        # The follower has a lower epoch: the end of that, and another question.
        (ends(4, 25), TruncateTo(20, is_final=False)),
        (ends(2, 8), TruncateTo(10, is_final=False)),
        # The follower has only higher epochs.
        (ends(0, 9), TruncateTo(5)),
        (ends(0, 3), TruncateTo(3)),
        # The leader's epoch is above all of the follower's.
        (ends(7, 25), TruncateTo(25)),
        (ends(7, 35), TruncateTo(30)),
        # A leader before KIP-279.
        (ends(-1, 25), TruncateTo(25)),
        (ends(-1, 35), TruncateTo(30)),
        # Only an unknown end leaves the high watermark.
        (UNKNOWN_END, TruncateTo(12)),
        (ends(6, -1), TruncateTo(12)),
    ),
)
def test_truncation_follows_from_the_end_of_an_epoch(
    leader_end: EpochEnd, step: TruncateTo
) -> None:
    assert step_after_epoch_end(log(*EPOCHS), leader_end) == step


def test_log_without_epochs_is_truncated_to_the_leaders_end() -> None:
    assert step_after_epoch_end(log(), ends(3, 20)) == TruncateTo(20)
    assert step_after_epoch_end(log(), ends(3, 40)) == TruncateTo(30)


def test_epoch_without_records_ends_at_the_log_end() -> None:
    assert step_after_epoch_end(log((1, 5), (6, 30)), ends(4, 40)) == TruncateTo(30, is_final=False)


# -- out of range


def test_follower_truncates_to_the_end_of_a_shorter_leader() -> None:
    assert step_after_log_end(log(*EPOCHS), 29) == TruncateTo(29)
    assert step_after_log_end(log(*EPOCHS), 30) is None


def test_follower_starts_again_if_the_leader_has_deleted_all_that_it_has() -> None:
    assert step_after_log_start(log(*EPOCHS), 31) == StartAt(31)


@pytest.mark.parametrize("leader_start", (0, 30))
def test_follower_keeps_its_log_if_the_leader_continues_it(leader_start: int) -> None:
    assert step_after_log_start(log(*EPOCHS), leader_start) == FetchFrom(30, LeaderEpoch(6))


# -- bounds


@pytest.mark.parametrize(
    ("high_watermark", "leader_start", "bounds"),
    (
        (20, 0, (20, 5)),
        (40, 0, (30, 5)),
        (10, 0, (12, 5)),
        (20, 8, (20, 8)),
        (10, 40, (12, 12)),
    ),
)
def test_bounds_stay_within_the_log_and_never_fall(
    high_watermark: int, leader_start: int, bounds: tuple[int, int]
) -> None:
    found = bounds_after_fetch(
        log(*EPOCHS), leader_high_watermark=high_watermark, leader_start=leader_start
    )

    assert found == bounds
