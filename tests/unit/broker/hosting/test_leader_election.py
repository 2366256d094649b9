"""A leader epoch never falls, and rises whenever the records of an epoch may differ."""

import pytest

from cordwood.broker.hosting.leader_election import FoundLog, elect
from cordwood.core.partition_state import PartitionState
from cordwood.core.uuids import Uuid

HERE = Uuid(bytes(range(16)))


def stored(epoch: int) -> PartitionState:
    return PartitionState(1, epoch, (1,), HERE)


@pytest.mark.parametrize(
    ("before", "log", "epoch"),
    (
        (stored(5), FoundLog(HERE, latest_epoch=5), 5),  # clean shutdown
        (stored(5), FoundLog(HERE, latest_epoch=3), 5),  # clean, nothing written in epoch 5
        (stored(5), FoundLog(HERE, latest_epoch=None), 5),  # clean, never written to
        (stored(5), FoundLog(HERE, latest_epoch=5, is_clean=False), 6),  # crash
        (stored(5), FoundLog(HERE, latest_epoch=3, is_clean=False), 6),  # lost pages
        (stored(5), FoundLog(HERE, is_new=True), 6),  # created again
        (stored(5), FoundLog(HERE, latest_epoch=7), 8),  # another leader has written
        (None, FoundLog(HERE, is_new=True), 0),  # new partition
        (None, FoundLog(HERE, latest_epoch=4), 5),  # an earlier owner published 4 or more
        (None, FoundLog(HERE), 0),  # a log without epochs
    ),
)
def test_epoch_follows_from_the_stored_state_and_the_log(
    before: PartitionState | None, log: FoundLog, epoch: int
) -> None:
    assert elect(before, log, node_id=1) == PartitionState(1, epoch, (1,), HERE)


def test_directory_is_the_one_of_the_log() -> None:
    moved = Uuid(bytes(range(16, 32)))

    assert elect(stored(5), FoundLog(moved, latest_epoch=5), node_id=1).directory == moved
