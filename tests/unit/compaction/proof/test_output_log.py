"""The output by itself: valid batches, in order, in the right places."""

import pytest

from cordwood.core.binary import INT32_MAX
from cordwood.core.types import Offset
from cordwood.storage.files.file_names import CLEANED, INDEX, LOG, TXN_INDEX, segment_name
from cordwood.storage.segment.transaction_index import AbortedTxn
from tests.unit.compaction.both_sides import BothSides, Segments
from tests.unit.compaction.compaction_samples import batch, marker, sent

ONE, TWO, THREE = batch(5, "a1"), batch(6, "b1"), batch(7, "c1")


def wrongs(after: Segments, *, end: int = 8) -> list[str]:
    """Return the violations in the output of three batches."""
    return BothSides({5: [ONE, TWO, THREE]}, after, end=end).wrongs()


def test_batches_may_be_in_one_segment_or_several() -> None:
    assert wrongs({5: [ONE, TWO, THREE]}) == []
    assert wrongs({5: [ONE], 6: [TWO, THREE]}) == []


@pytest.mark.parametrize(
    "after", ({5: [TWO, ONE, THREE]}, {5: [ONE, ONE, TWO, THREE]}, {5: [ONE, TWO], 6: [TWO, THREE]})
)
def test_decreasing_offsets_are_a_violation(after: Segments) -> None:
    log = BothSides({5: [ONE, TWO, THREE]}, {}, end=8)
    log.after = after
    for base, batches in after.items():
        log.write_log(base, batches)

    assert "offsets go back" in log.wrongs()


def test_batch_below_the_base_offset_of_its_segment_is_a_violation() -> None:
    log = BothSides({5: [ONE, TWO, THREE]}, {5: []}, end=8)
    log.after = {5: [], 7: [TWO, THREE]}
    log.write_log(7, [TWO, THREE])

    assert "a batch is in a segment that begins after it" in log.wrongs()


def test_batch_beyond_the_range_of_the_indexes_is_a_violation() -> None:
    far = batch(6 + INT32_MAX, "d1")
    log = BothSides({5: [ONE], 6: [far]}, {}, end=7 + INT32_MAX)
    log.after = {5: [ONE, far]}
    log.write_log(5, [ONE, far])

    assert "a batch is beyond the offset range of its segment's indexes" in log.wrongs()


def test_batch_at_or_above_the_end_of_the_pass_is_a_violation() -> None:
    beyond = batch(8, "d1")

    assert "a batch is at or above the end of the pass" in wrongs({5: [ONE, TWO, THREE, beyond]})


def test_damaged_batch_is_a_violation() -> None:
    log = BothSides({5: [ONE, TWO, THREE]}, {5: [ONE, TWO, THREE]}, end=8)
    log.put(5, LOG, ONE + TWO + THREE[:-1] + b"\1")

    (violation,) = log.verified().violations

    assert violation.what.startswith("a batch is damaged: the checksum is wrong")
    assert violation.file == segment_name(Offset(5), LOG, suffix=CLEANED)


def test_wrong_index_is_a_violation() -> None:
    log = BothSides({5: [ONE, TWO, THREE]}, {5: [ONE, TWO, THREE]}, end=8)
    log.put(5, INDEX, b"")

    (violation, _) = log.verified().violations

    assert violation.what == "a batch has no entry"
    assert violation.file == segment_name(Offset(5), INDEX, suffix=CLEANED)


def test_aborted_transaction_without_its_marker_is_a_violation() -> None:
    batches = [sent(5, "a1"), marker(6, is_commit=True), THREE]
    aborted = AbortedTxn(1, 5, 6, 7)

    assert BothSides({5: batches}, {5: batches}, end=8, aborted=[aborted]).wrongs() == [
        "an aborted transaction without its marker"
    ]


def test_torn_transaction_index_is_a_violation() -> None:
    log = BothSides({5: [ONE, TWO, THREE]}, {5: [ONE, TWO, THREE]}, end=8)
    log.put(5, TXN_INDEX, b"\0")

    assert len(log.wrongs()) == 1
