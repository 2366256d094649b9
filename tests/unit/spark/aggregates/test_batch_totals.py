"""Totals of the batches in splits."""

from itertools import pairwise

import pytest

from cordwood.core.errors import BadRecordsError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.batch_checks import PlainBatchChecker
from cordwood.records.compression import Codec
from cordwood.spark.aggregates.batch_totals import sum_split
from cordwood.spark.source.coverage import OffsetRange, PartitionDirectory
from cordwood.spark.source.splits import Split
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.log_statistics import LogCounter, LogStatistics, build_stat
from cordwood.workbench.stat import stat
from tests.unit.records.segments import legacy
from tests.unit.storage.log_samples import DIRECTORY
from tests.unit.storage.reader_samples import directory, harm, name
from tests.unit.storage.segment_samples import marker, produced, v2
from tests.unit.workbench.verified import healthy

PARTITION = TopicPartition(TopicName("t"), PartitionId(0))
END = 110


def _sums(files: MemoryFiles, *cuts: int) -> LogStatistics:
    """Return the totals of the splits between offsets."""
    counting = LogCounter(is_deep=True)
    for start, end in pairwise(cuts):
        split = Split(OffsetRange(PARTITION, start, end), 0, PartitionDirectory(DIRECTORY))
        counting.add_part(sum_split(files, split, checker=PlainBatchChecker(), is_deep=True))
    return build_stat([(DIRECTORY, counting)], is_deep=True).total


@pytest.mark.parametrize("step", (1, 3, 7, 50, END))
def test_totals_of_splits_sum_to_those_of_the_log(step: int) -> None:
    files = healthy()

    found = _sums(files, *range(0, END, step), END)

    assert found == stat(files, [DIRECTORY], is_deep=True).total


def test_transaction_that_ends_in_a_later_split_is_not_open() -> None:
    log = produced(0, 1, producer_id=1) + v2(2) + marker(3, producer_id=1, is_commit=True)
    files = directory(log=log)

    assert _sums(files, 0, 2, 4).transactions_open == 0
    assert _sums(files, 0, 2, 3).transactions_open == 1


@pytest.mark.parametrize("cut", (1, 2, 3))
def test_wrapper_across_two_splits_counts_once(cut: int) -> None:
    files = directory(log=legacy(1, b"a", b"b", b"c", codec=Codec.GZIP) + v2(3))

    sums = _sums(files, 0, cut, 4)
    assert sums.batches == 2
    assert sums.records == 4


def test_damage_is_raised_with_its_position() -> None:
    files = directory(log=v2(0) + v2(1) + v2(2))
    harm(files, name(0), len(v2(0)) + 61, bytes([9]))

    with pytest.raises(BadRecordsError, match=name(0)) as refused:
        _sums(files, 0, 3)
    assert refused.value.position == len(v2(0))
    assert refused.value.base_offset == 1
