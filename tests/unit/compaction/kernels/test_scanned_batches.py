"""Windows of a verification as rows, each scanned once."""

from collections.abc import Sequence

import pytest

from cordwood.compaction.kernels.scanned_batches import Scanned
from cordwood.compaction.proof.batch_reader import BatchCursor
from cordwood.records.compression import Codec
from cordwood.records.kernels import layout
from tests.unit.compaction.both_sides import changed
from tests.unit.compaction.compaction_samples import batch, old
from tests.unit.compaction.kernels.proof_samples import standing

DATA = (batch(0, "a1"), batch(1, "b1"), batch(2, "c1"))


def offsets(scanned: Scanned, batches: BatchCursor) -> Sequence[int]:
    found: list[int] = scanned.rows_of(batches)[:, layout.T_BASE_OFFSET].tolist()
    return found


def test_rows_start_at_the_position_of_the_reader() -> None:
    scanned, batches = Scanned(), standing(*DATA)

    assert offsets(scanned, batches) == [0, 1, 2]
    batches.take()
    assert offsets(scanned, batches) == [1, 2]
    batches.take()
    batches.take()
    assert offsets(scanned, batches) == []


@pytest.mark.parametrize(
    "other", (changed(DATA[1], codec=Codec.LZ4), old(1, "b1"), DATA[1][:-1] + b"?")
)
def test_rows_end_before_a_batch_that_is_not_plain_and_whole(other: bytes) -> None:
    batches = standing(DATA[0], other, DATA[2])

    assert offsets(Scanned(), batches) == [0]


def test_rows_of_another_window_are_read_again() -> None:
    scanned = Scanned()
    scanned.rows_of(standing(*DATA))

    assert offsets(scanned, standing(DATA[1])) == [1]
