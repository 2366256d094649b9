"""Comparison of the input with the output: batches that may be removed or must be retained."""

import pytest

from cordwood.compaction.plan.cleaning_plan import LastRecord
from cordwood.storage.segment.transaction_index import AbortedTxn
from tests.unit.compaction.both_sides import MODIFIED, BothSides, without
from tests.unit.compaction.compaction_samples import (
    HORIZON,
    NOW,
    batch,
    empty,
    marker,
    old,
    sent,
    with_horizon,
)

LAST = batch(20, "z1")
ABORTED = AbortedTxn(1, 0, 2, 3)
NOT_THERE = "a batch without an original"
NEEDED = "the last batch of a producer, or of the pass, was removed"
UNNEEDED = "an empty batch survives without need"


def wrongs(
    before: list[bytes], after: list[bytes], *aborted: AbortedTxn, **plan: object
) -> list[str]:
    """Return the violations in a segment; a last batch is added to input and output."""
    log = BothSides({0: [*before, LAST]}, {0: [*after, LAST]}, end=21, aborted=aborted)
    return log.planned(**plan).wrongs()


def test_unchanged_batch_is_correct() -> None:
    assert wrongs([batch(0, "a1")], [batch(0, "a1")]) == []


def test_batch_may_be_removed_with_all_its_records() -> None:
    assert wrongs([batch(0, "a1"), batch(1, "a2")], [batch(1, "a2")]) == []


def test_batch_without_an_original_between_others_is_a_violation() -> None:
    assert wrongs(
        [batch(0, "a1"), batch(5, "b1")], [batch(0, "a1"), batch(3, "c1"), batch(5, "b1")]
    ) == [NOT_THERE]


def test_batch_without_an_original_at_the_end_is_a_violation() -> None:
    log = BothSides({0: [batch(0, "a1")]}, {0: [batch(0, "a1"), batch(1, "b1")]}, end=2)

    assert NOT_THERE in log.wrongs()


def test_batch_in_the_segment_of_another_group_is_a_violation() -> None:
    before = {0: [batch(0, "a1")], 1: [batch(1, "b1")]}
    log = BothSides(before, {0: [batch(0, "a1"), batch(1, "b1")], 1: []}, end=2, groups=[[0], [1]])

    assert log.wrongs() == ["a batch is in another group's segment"]


# -- transactions


def test_aborted_data_may_not_be_left() -> None:
    before = [sent(0, "a1"), batch(1, "b1"), marker(2, is_commit=False)]

    assert wrongs(before, before, ABORTED) == ["a record of an aborted transaction survives"]


def test_aborted_data_may_be_removed_while_its_marker_stays() -> None:
    before = [sent(0, "a1"), marker(2, is_commit=False)]

    assert wrongs(before, before[1:], ABORTED) == []


def test_aborted_data_leave_the_record_before_them() -> None:
    before = [batch(0, "a1"), sent(1, "a2"), marker(2, is_commit=False)]
    aborted = AbortedTxn(1, 1, 2, 3)

    assert wrongs(before, [batch(0, "a1"), before[2]], aborted) == []
    assert wrongs(before, before[2:], aborted) == ["the last record of a key was removed"]


def test_committed_data_may_not_be_removed_as_aborted() -> None:
    before = [sent(0, "a1"), marker(2, is_commit=True)]

    assert wrongs(before, before[1:]) == ["the last record of a key was removed"]


@pytest.mark.parametrize("is_commit", (True, False))
def test_a_marker_without_data_gets_a_horizon_first(*, is_commit: bool) -> None:
    idle = marker(2, is_commit=is_commit)

    assert wrongs([idle], [with_horizon(idle)]) == []
    assert wrongs([idle], [idle]) == ["the delete horizon is wrong"]
    assert wrongs([idle], []) == ["a marker was removed before its horizon"]


def test_marker_is_removed_at_its_delete_horizon() -> None:
    idle = with_horizon(marker(2, is_commit=True), NOW)

    assert wrongs([idle], []) == []
    assert wrongs([idle], [idle]) == ["a marker survives after its horizon"]


def test_marker_stays_until_its_delete_horizon() -> None:
    idle = with_horizon(marker(2, is_commit=True), NOW + 1)

    assert wrongs([idle], [idle]) == []
    assert wrongs([idle], [with_horizon(idle)]) == [
        "a batch whose records all survive has other bytes",
        "the delete horizon is wrong",
    ]


def test_a_marker_with_data_gets_no_horizon() -> None:
    before = [sent(0, "a1"), marker(2, is_commit=True)]

    assert wrongs(before, [before[0], with_horizon(before[1])]) == [
        "a batch whose records all survive has other bytes",
        "the delete horizon is wrong",
    ]


def test_an_empty_batch_counts_as_data_of_its_transaction() -> None:
    before = [empty(sent(0, "a1")), marker(2, is_commit=True)]
    last = {1: LastRecord(0, 0)}

    assert wrongs(before, before, last_records=last) == []


def test_empty_marker_is_removed_without_a_delete_horizon() -> None:
    before = [empty(marker(2, is_commit=True))]

    assert wrongs(before, []) == []
    assert wrongs(before, before) == [UNNEEDED]


# -- what stays although it is empty


def test_the_last_batch_of_a_producer_stays_empty() -> None:
    before = [sent(0, "a1", is_transactional=False), batch(1, "a2")]
    last = {1: LastRecord(0, 0)}

    assert wrongs(before, [empty(before[0]), before[1]], last_records=last) == []
    assert wrongs(before, before[1:], last_records=last) == [NEEDED]
    assert wrongs(before, [empty(before[0]), before[1]]) == [UNNEEDED]


def test_the_last_marker_of_a_producer_without_data_stays_empty() -> None:
    before = [with_horizon(marker(2, is_commit=True, epoch=3), NOW)]
    last = {1: LastRecord(3, None)}

    assert wrongs(before, [empty(before[0])], last_records=last) == []
    assert wrongs(before, [], last_records=last) == [NEEDED]
    assert wrongs(before, [], last_records={1: LastRecord(4, None)}) == []


def test_the_last_batch_of_the_pass_stays_empty() -> None:
    before = [batch(0, "a1"), batch(1, "a-")]
    first = with_horizon(before[1], NOW)

    log = BothSides({0: [before[0], first]}, {0: [empty(first)]}, end=2)

    assert log.wrongs() == []


def test_last_batch_of_the_pass_may_not_be_removed() -> None:
    last = with_horizon(batch(0, "a-"), NOW)

    assert BothSides({0: [last]}, {0: []}, end=1).wrongs() == [NEEDED]


def test_last_batch_of_the_pass_may_be_removed_when_it_has_an_old_format() -> None:
    log = BothSides({0: [old(0, "a-")]}, {0: []}, end=1)

    assert log.planned(legacy_horizon_ms=MODIFIED).wrongs() == []


# -- tombstones


def test_a_tombstone_gets_a_horizon_when_it_is_first_left() -> None:
    tombstone = batch(0, "a- b1")

    assert wrongs([tombstone], [with_horizon(tombstone)]) == []
    assert wrongs([tombstone], [tombstone]) == ["the delete horizon is wrong"]


def test_tombstone_stays_until_its_delete_horizon() -> None:
    tombstone = with_horizon(batch(0, "a- b1"), NOW + 1)

    assert wrongs([tombstone], [tombstone]) == []
    assert wrongs([tombstone], [without(tombstone, 0)]) == [
        "a tombstone was removed before its horizon"
    ]


def test_tombstone_is_removed_at_its_delete_horizon() -> None:
    tombstone = with_horizon(batch(0, "a- b1"), NOW)

    assert wrongs([tombstone], [without(tombstone, 0)]) == []
    assert wrongs([tombstone], [tombstone]) == ["a tombstone survives after its horizon"]


@pytest.mark.parametrize(("horizon", "left"), ((MODIFIED - 1, 1), (MODIFIED, 0)))
def test_old_tombstone_is_removed_by_the_timestamp_of_its_segment(horizon: int, left: int) -> None:
    after = [with_horizon(batch(0, "a-"), HORIZON)] * left

    assert wrongs([old(0, "a-", magic=1)], after, legacy_horizon_ms=horizon) == []


# -- producers


def test_later_batch_of_a_producer_than_planned_is_a_violation() -> None:
    before = [sent(0, "a1"), sent(1, "b1", is_transactional=False), marker(2, is_commit=True)]

    assert wrongs(before, before, last_records={1: LastRecord(0, 0)}) == [
        "a producer has a later batch than in the plan"
    ]


def test_last_batch_of_a_producer_may_be_after_the_pass() -> None:
    before = [sent(0, "a1"), marker(1, is_commit=True)]
    last = {1: LastRecord(0, 7), 2: LastRecord(0, None)}

    assert wrongs(before, before, last_records=last) == []


# -- a log by itself


def test_cleaned_log_verified_alone_is_correct() -> None:
    batches = [with_horizon(batch(0, "a-"), NOW), marker(1, is_commit=True), sent(2, "b1"), LAST]
    log = BothSides({0: [*batches[:3], marker(3, is_commit=True), LAST]}, {}, end=21)

    assert log.verified_alone() == []


def test_uncleaned_log_verified_alone_is_a_violation() -> None:
    log = BothSides({0: [batch(0, "a1 a2"), LAST]}, {}, end=21)

    assert log.verified_alone() == [
        "a record survives although a later one of its key survives, too"
    ]
