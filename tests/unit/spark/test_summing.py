"""Batches of splits in numbers."""

from itertools import pairwise

import pytest

from cordwood.core.errors import BadRecordsError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.compression import Codec
from cordwood.records.sweep import PlainSweeper
from cordwood.spark.holdings import Range
from cordwood.spark.splits import Split
from cordwood.spark.summing import sum_split
from cordwood.testing.files import MemoryFiles
from cordwood.workbench.log_sums import LogCounting, LogSums, stat_of
from cordwood.workbench.stat import stat
from tests.unit.records.segments import legacy
from tests.unit.storage.log_samples import DIRECTORY
from tests.unit.storage.reader_samples import directory, harm, name
from tests.unit.storage.segment_samples import marker, produced, v2
from tests.unit.workbench.verified import healthy

PARTITION = TopicPartition(TopicName("t"), PartitionId(0))
END = 110


def _sums(files: MemoryFiles, *cuts: int) -> LogSums:
    """Return the numbers of the splits between some offsets."""
    counting = LogCounting(is_deep=True)
    for start, end in pairwise(cuts):
        split = Split(Range(PARTITION, start, end), 0, DIRECTORY)
        counting.follow(sum_split(files, split, sweeper=PlainSweeper(), is_deep=True))
    return stat_of([(DIRECTORY, counting)], is_deep=True).total


@pytest.mark.parametrize("step", (1, 3, 7, 50, END))
def test_splits_have_together_the_numbers_of_the_log(step: int) -> None:
    files = healthy()

    found = _sums(files, *range(0, END, step), END)

    assert found == stat(files, [DIRECTORY], is_deep=True).total


def test_transaction_that_ends_in_a_later_split_is_not_open() -> None:
    log = produced(0, 1, producer_id=1) + v2(2) + marker(3, producer_id=1, is_commit=True)
    files = directory(log=log)

    assert _sums(files, 0, 2, 4).transactions_open == 0
    assert _sums(files, 0, 2, 3).transactions_open == 1


@pytest.mark.parametrize("cut", (1, 2, 3))
def test_wrapper_that_is_cut_counts_once(cut: int) -> None:
    files = directory(log=legacy(1, b"a", b"b", b"c", codec=Codec.GZIP) + v2(3))

    assert (_sums(files, 0, cut, 4).batches, _sums(files, 0, cut, 4).records) == (2, 4)


def test_damage_is_raised_with_its_place() -> None:
    files = directory(log=v2(0) + v2(1) + v2(2))
    harm(files, name(0), len(v2(0)) + 61, bytes([9]))

    with pytest.raises(BadRecordsError, match=name(0)) as refused:
        _sums(files, 0, 3)
    assert (refused.value.position, refused.value.base_offset) == (len(v2(0)), 1)
