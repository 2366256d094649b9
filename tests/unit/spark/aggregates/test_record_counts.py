"""Record counts from headers, compared with a read."""

import pytest

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.batch_builder import BatchFields, empty_batch
from cordwood.records.batch_checks import PlainBatchChecker
from cordwood.records.compression import Codec
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.spark.aggregates.record_counts import HeaderCount, count_from_headers
from cordwood.spark.source.coverage import OffsetRange, PartitionDirectory
from cordwood.spark.source.splits import Split
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.partition_columns import ColumnsRequest, read_partition
from tests.unit.records.segments import legacy
from tests.unit.storage.log_samples import DIRECTORY
from tests.unit.storage.reader_samples import directory, reader
from tests.unit.storage.segment_samples import marker, message, produced, v2

PARTITION = TopicPartition(TopicName("t"), PartitionId(0))
EMPTY = bytes(empty_batch(BatchFields(base_offset=10), last_offset=12, max_timestamp=1000))
TRANSACTIONS = (
    v2(0, 1)
    + produced(2, 4, producer_id=1)
    + produced(5, 6, producer_id=2)
    + marker(7, producer_id=1, is_commit=False)
    + produced(8, 8, producer_id=1)
    + marker(9, producer_id=2, is_commit=True)
    + EMPTY
    + marker(13, producer_id=1, is_commit=True)
    + v2(14, 15)
)
#: Larger than a run, so that what comes before and after is in others.
SPACER = 5 << 20
RUNS = (
    produced(0, 1, producer_id=1)
    + v2(2, size=SPACER)
    + produced(3, 4, producer_id=1)
    + v2(5, size=SPACER)
    + marker(6, producer_id=1, is_commit=False)
    + message(7)
    + produced(8, 9, producer_id=1)
    + marker(10, producer_id=1, is_commit=True)
)
OLD = message(0) + message(1, magic=0) + message(3) + v2(4, 6)


def _count(files: MemoryFiles, start: int, end: int, *, is_committed: bool = False) -> HeaderCount:
    split = Split(OffsetRange(PARTITION, start, end), 0, PartitionDirectory(DIRECTORY))
    return count_from_headers(files, split, is_committed=is_committed, checker=PlainBatchChecker())


def _counted(files: MemoryFiles, start: int, end: int, *, is_committed: bool = False) -> int:
    """Return the count from headers, plus the records read from uncounted ranges."""
    counted, uncounted = _count(files, start, end, is_committed=is_committed)
    rest = [_read(files, part.start, part.end, is_committed=is_committed) for part in uncounted]
    return counted + sum(rest)


def _read(files: MemoryFiles, start: int, end: int, *, is_committed: bool) -> int:
    wanted = ColumnsRequest(columns=("key",), start=start, end=end, is_committed=is_committed)
    batches = read_partition(reader(files), wanted, decoder=PlainDecoder())
    return sum(batch.num_rows for batch in batches)


@pytest.mark.parametrize("is_committed", (False, True))
@pytest.mark.parametrize("log", (TRANSACTIONS, OLD), ids=("transactions", "old"))
def test_count_equals_that_of_a_read_for_any_range(log: bytes, *, is_committed: bool) -> None:
    files = directory(log=log)
    end = reader(files).offsets().log_end

    for start in range(end):
        for stop in range(start + 1, end + 1):
            counted = _counted(files, start, stop, is_committed=is_committed)
            assert counted == _read(files, start, stop, is_committed=is_committed), (start, stop)


@pytest.mark.parametrize("is_committed", (False, True))
@pytest.mark.parametrize("start", (0, 1, 4))
def test_count_continues_across_runs(start: int, *, is_committed: bool) -> None:
    files = directory(log=RUNS)

    counted = _counted(files, start, 9, is_committed=is_committed)

    assert counted == _read(files, start, 9, is_committed=is_committed)


def test_headers_suffice_for_whole_batches() -> None:
    files = directory(log=TRANSACTIONS)

    assert _count(files, 0, 16) == HeaderCount(10, [])
    assert _count(files, 2, 14) == HeaderCount(6, [])


def test_batch_that_is_partly_in_the_split_is_read() -> None:
    _, uncounted = _count(directory(log=RUNS), 1, 9)

    assert uncounted == [OffsetRange(PARTITION, 1, 2), OffsetRange(PARTITION, 6, 9)]


def test_lost_offsets_are_left_to_be_read() -> None:
    files = directory(log_5=v2(5, 6) + v2(7))

    assert _count(files, 5, 8) == HeaderCount(3, [])
    assert _count(files, 2, 8) == HeaderCount(0, [OffsetRange(PARTITION, 2, 8)])
    assert _count(files, 5, 9) == HeaderCount(3, [OffsetRange(PARTITION, 8, 9)])


def test_compacted_offsets_are_not_read() -> None:
    assert _count(directory(log=v2(0) + v2(5)), 0, 6) == HeaderCount(2, [])
    assert _count(directory(log=v2(0) + v2(5)), 1, 6) == HeaderCount(1, [])


def test_count_opens_wrappers() -> None:
    log = legacy(1, b"a", b"b", b"c", codec=Codec.GZIP)

    assert _counted(directory(log=log), 0, 3) == 3
    assert _counted(directory(log=log), 1, 3) == 2
