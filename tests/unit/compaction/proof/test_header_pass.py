"""Headers are read once to find the aborted transactions."""

import pytest

from cordwood.compaction.proof.batch_reader import SegmentFile
from cordwood.compaction.proof.header_pass import HeaderPass
from cordwood.compaction.proof.transaction_outcomes import AbortedRange
from cordwood.compaction.proof.violations import Violations
from tests.unit.compaction.both_sides import BothSides
from tests.unit.compaction.compaction_samples import batch, marker, sent


def read(
    before: dict[int, list[bytes]], *, end: int, behind: list[bytes], log_start: int = 0
) -> tuple[HeaderPass, list[str]]:
    """Return the outcomes from segments and from a later one, and the violations."""
    log = BothSides(before, {}, end=end)
    log.write(end, behind)
    violations = Violations()
    found = HeaderPass(log.reading.source, violations=violations)
    found.read([SegmentFile(each.base_offset, "", each.size, 0, 0) for each in log.plan.segments])
    found.read_beyond(end, log_start=log_start)
    return found, [violation.what for violation in violations.kept]


def test_transaction_outcomes_cover_several_segments() -> None:
    before = {0: [sent(0, "a1")], 1: [batch(1, "b1"), marker(2, is_commit=False)]}

    found, wrongs = read(before, end=3, behind=[])

    assert found.told.aborted(1, 0) == AbortedRange(1, 0, 2)
    assert wrongs == []


def test_a_transaction_may_end_beyond_the_pass() -> None:
    found, wrongs = read({0: [sent(0, "a1")]}, end=1, behind=[marker(1, is_commit=False)])

    assert found.told.aborted(1, 0) == AbortedRange(1, 0, 1)
    assert wrongs == []


def test_a_transaction_that_is_open_may_not_be_cleaned() -> None:
    _, wrongs = read({0: [sent(0, "a1")]}, end=1, behind=[batch(1, "b1")])

    assert wrongs == ["data of a transaction that is open lie below the end"]


@pytest.mark.parametrize(("log_start", "count"), ((0, 1), (1, 1), (2, 0), (3, 0)))
def test_an_open_transaction_below_the_log_start_may_be_cleaned(log_start: int, count: int) -> None:
    before = {0: [sent(0, "a1"), batch(1, "b1")]}

    _, wrongs = read(before, end=2, behind=[batch(2, "c1")], log_start=log_start)

    assert len(wrongs) == count


def test_batch_that_was_damaged_before_the_pass_is_a_violation() -> None:
    damaged = batch(0, "a1")[:16] + b"\7" + batch(0, "a1")[17:]
    log = BothSides({0: [batch(0, "a1")]}, {}, end=1)
    log.put(0, ".log", damaged, suffix="")
    violations = Violations()

    HeaderPass(log.reading.source, violations=violations).read(
        [SegmentFile(0, "", len(damaged), 0, 0)]
    )

    assert violations.kept[0].what.startswith("a batch was damaged: unknown magic")
