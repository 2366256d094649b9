"""Verification rows: the batches that kernels scan, and those before which they stop."""

from dataclasses import replace

import pytest

from cordwood.compaction.kernels.kernel_record_verifier import KernelRecordVerifier
from cordwood.compaction.plan.cleaning_plan import LastRecord
from cordwood.compaction.proof.record_checks import StrideLimits, StrideResult
from cordwood.compaction.proof.violations import Violations
from cordwood.records.batch_builder import BatchFields
from cordwood.records.compression import Codec
from tests.unit.compaction.both_sides import ALL_KEYS, changed, without
from tests.unit.compaction.compaction_samples import (
    HORIZON,
    batch,
    empty,
    marker,
    old,
    plan,
    sent,
    with_horizon,
)
from tests.unit.compaction.kernels.proof_samples import standing

WAS = [batch(0, "b1 a1"), batch(2, "a2 c1"), batch(4, "d1")]
LEFT = [without(WAS[0], 1), WAS[1], WAS[2]]
TERMS = StrideLimits(end=100, is_alone=False, may_match=True, is_over=False)


def judge_of(
    left: list[bytes], *, memory_bytes: int = 1 << 16, last: LastRecord | None = None
) -> KernelRecordVerifier:
    """Return a verifier with the keys of the surviving records."""
    lasts = {1: last} if last else {}
    judge = KernelRecordVerifier(
        replace(plan(), last_records=lasts), ALL_KEYS, Violations(), memory_bytes
    )
    judge.learn_many(standing(*left), lowest=0, highest=1000)
    return judge


def strode(
    before: list[bytes],
    left: list[bytes],
    *,
    terms: StrideLimits = TERMS,
    last: LastRecord | None = None,
) -> tuple[StrideResult, int]:
    """Return the result of a scan, and the number of records read."""
    judge = judge_of(left, last=last)
    over = standing(*left) if left else standing()
    return judge.judge_many(standing(*before), over, terms=terms), judge.counts.read


def test_scan_covers_ordinary_batches_and_their_surviving_records() -> None:
    judge = judge_of(LEFT)
    before, left = standing(*WAS), standing(*LEFT)

    went = judge.judge_many(before, left, terms=TERMS)

    assert went == StrideResult(3, sum(map(len, WAS)), copied=2, is_held_up=False)
    assert (before.peek(), left.peek()) == (None, None)
    assert (judge.counts.read, judge.counts.keyed_gone, judge.keys.superseded) == (5, 1, 1)


def test_scan_enlarges_the_key_table() -> None:
    text = " ".join(f"{chr(97 + number)}1" for number in range(20))

    judge = judge_of([batch(0, text)], memory_bytes=2048)
    went = judge.judge_many(standing(batch(0, text)), standing(batch(0, text)), terms=TERMS)

    assert (went.copied, judge.keys.dirty_keys, judge.counts.read) == (1, 20, 20)


@pytest.mark.parametrize(
    "other",
    (
        marker(2, is_commit=True),
        sent(2, "c1"),
        old(2, "c1", magic=1),
        changed(batch(2, "c1"), codec=Codec.LZ4),
        empty(batch(2, "c1")),
    ),
)
def test_scan_stops_before_a_batch_that_is_not_ordinary(other: bytes) -> None:
    went, read = strode([WAS[0], other, WAS[2]], [LEFT[0], other, WAS[2]])

    assert (went.batches, went.is_wrong, read) == (1, False, 2)


@pytest.mark.parametrize(
    "left",
    (
        batch(2, "a2 c2"),
        batch(2, "a2 c1", fields=BatchFields(partition_leader_epoch=7)),
        with_horizon(WAS[1], HORIZON),
        batch(2, "c1"),
    ),
)
def test_scan_stops_before_a_possible_violation_for_the_plain_path(left: bytes) -> None:
    went, read = strode(WAS, [LEFT[0], left, WAS[2]])

    assert (went.batches, went.is_held_up, went.is_wrong, read) == (1, True, False, 2)


def test_scan_reports_a_violation_in_records() -> None:
    went, _ = strode(WAS, [without(batch(0, "b2 a1"), 1), *LEFT[1:]])

    assert (went.batches, went.is_wrong) == (0, True)


def test_scan_stops_where_the_output_is_unknown() -> None:
    assert strode(WAS, LEFT[:1])[0].batches == 1
    assert strode(WAS, LEFT[:1], terms=TERMS._replace(is_over=True))[0].batches == 3


def test_scan_matches_no_batch_of_another_group() -> None:
    assert strode(WAS, LEFT, terms=TERMS._replace(may_match=False))[0].batches == 0


def test_scan_stops_before_a_batch_that_must_be_retained() -> None:
    gone = [sent(0, "a1", is_transactional=False), batch(1, "a2")]
    over = TERMS._replace(is_over=True)

    assert strode(gone, gone[1:], last=LastRecord(0, 5))[0].batches == 2
    assert strode(gone, gone[1:], last=LastRecord(0, 0))[0].batches == 0
    assert strode(gone, gone, last=LastRecord(0, -1))[0].batches == 0
    assert strode(gone[1:], [], terms=over._replace(end=2))[0].batches == 0


def test_tombstone_without_a_horizon_is_a_violation_unless_the_log_is_verified_alone() -> None:
    tombstone = [batch(0, "a- b1")]

    assert strode(tombstone, tombstone)[0].is_wrong
    assert strode(tombstone, tombstone, terms=TERMS._replace(is_alone=True))[0].batches == 1


def test_output_keys_are_added_only_within_the_offset_bounds() -> None:
    judge = KernelRecordVerifier(plan(), ALL_KEYS, Violations(), 1 << 16)

    learnt = judge.learn_many(standing(*WAS), lowest=0, highest=4)
    below = judge.learn_many(standing(*WAS), lowest=0, highest=3)
    above = judge.learn_many(standing(*WAS), lowest=1, highest=4)

    assert [each.last_offset for each in learnt] == [1, 3, 4]
    assert [each.position for each in learnt] == [0, len(WAS[0]), len(WAS[0]) + len(WAS[1])]
    assert (len(below), len(above)) == (2, 0)
