"""Tests of the leader's answers about its epochs."""

import pytest

from cordwood.cluster.partition.epoch_lookup import (
    LeaderLog,
    find_divergence,
    last_offset_for_leader_epoch,
)
from cordwood.core.errors import OffsetOutOfRangeError
from cordwood.core.types import LeaderEpoch, Offset, PartitionId, TopicName, TopicPartition
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry, LeaderEpochCache

#: Epoch 1 wrote 5..9, epoch 3 wrote 10..19; epoch 6 begins at the log end, 20.
LOG = LeaderLog(
    TopicPartition(TopicName("orders"), PartitionId(0)),
    LeaderEpochCache(
        EpochEntry(LeaderEpoch(epoch), Offset(start)) for epoch, start in ((1, 5), (3, 10), (6, 20))
    ),
    leader_epoch=6,
    log_start=5,
    log_end=20,
)


@pytest.mark.parametrize(
    ("epoch", "end"), ((6, (6, 20)), (5, (3, 20)), (3, (3, 20)), (2, (1, 10)), (0, (0, 5)))
)
def test_epoch_ends_where_the_next_one_starts(epoch: int, end: tuple[int, int]) -> None:
    assert last_offset_for_leader_epoch(LOG, epoch) == end


def test_leaders_epoch_ends_at_the_log_end_without_an_entry() -> None:
    log = LOG._replace(epochs=LeaderEpochCache(), leader_epoch=9)

    assert last_offset_for_leader_epoch(log, 9) == (9, 20)
    assert last_offset_for_leader_epoch(log, 8) == (-1, -1)


@pytest.mark.parametrize(("last_epoch", "offset"), ((3, 20), (3, 15), (1, 10), (1, 5), (6, 20)))
def test_log_with_records_of_the_same_epochs_has_not_diverged(last_epoch: int, offset: int) -> None:
    assert find_divergence(LOG, last_epoch, offset=offset) is None


@pytest.mark.parametrize(
    ("last_epoch", "offset", "end"),
    ((3, 21, (3, 20)), (1, 11, (1, 10)), (2, 8, (1, 10)), (5, 20, (3, 20))),
)
def test_log_with_other_records_has_diverged(
    last_epoch: int, offset: int, end: tuple[int, int]
) -> None:
    assert find_divergence(LOG, last_epoch, offset=offset) == end


def test_fetcher_without_an_epoch_does_not_detect_divergence() -> None:
    assert find_divergence(LOG, -1, offset=99) is None


@pytest.mark.parametrize(("last_epoch", "offset"), ((7, 20), (3, 4)))
def test_unknown_epoch_and_deleted_offset_are_out_of_range(last_epoch: int, offset: int) -> None:
    with pytest.raises(
        OffsetOutOfRangeError, match=f"orders-0: the end of epoch {last_epoch} is unknown"
    ):
        find_divergence(LOG, last_epoch, offset=offset)
