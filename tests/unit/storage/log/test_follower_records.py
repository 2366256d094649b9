"""Tests of records from a leader: their order, and the pieces that fit into a segment."""

import pytest

from cordwood.core.errors import InvalidRecordError
from cordwood.storage.log.follower_records import UnexpectedOffsetError, first_piece
from tests.unit.storage.log_samples import LogHarness, batch

ONE = len(batch())


def batches(*offsets: int, epoch: int = 0) -> memoryview:
    return memoryview(b"".join(batch(at=at, epoch=epoch) for at in offsets))


def test_records_up_to_a_later_epoch_are_kept() -> None:
    log = LogHarness().open()
    data = memoryview(bytes(batches(0, 1)) + bytes(batches(2, epoch=5)))

    records = log.begin_follower_append(data, leader_epoch=4)

    assert (len(records.data), records.info.last_offset) == (2 * ONE, 1)


def test_records_out_of_order_are_rejected() -> None:
    with pytest.raises(InvalidRecordError, match="out of order"):
        LogHarness().open().begin_follower_append(batches(1, 0), leader_epoch=0)


def test_records_that_the_log_has_by_the_write_are_rejected() -> None:
    log = LogHarness().open()
    records = log.begin_follower_append(batches(0), leader_epoch=0)
    log.append_as_follower(batches(0), leader_epoch=0)

    with pytest.raises(UnexpectedOffsetError):
        log.finish_follower_append(records)


@pytest.mark.parametrize(
    ("most", "size"), ((0, ONE), (ONE, ONE), (3 * ONE - 1, 2 * ONE), (3 * ONE, 3 * ONE))
)
def test_piece_has_whole_batches_and_at_least_one(most: int, size: int) -> None:
    assert len(first_piece(batches(0, 1, 2), most)) == size


def test_incomplete_batch_is_a_piece_of_its_own() -> None:
    data = batches(0, 1)

    assert len(first_piece(data[: ONE + 20], ONE)) == ONE
    assert len(first_piece(data[:20], 10)) == 20
