"""Records counted by headers, beside what a reading has."""

import pytest

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.builder import BatchFields, empty_batch
from cordwood.records.compression import Codec
from cordwood.records.plain import PlainDecoder
from cordwood.records.sweep import PlainSweeper
from cordwood.spark.counting import Tally, tally_split
from cordwood.spark.holdings import Range
from cordwood.spark.splits import Split
from cordwood.testing.files import MemoryFiles
from cordwood.workbench.columns import ColumnsWanted, read_partition
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


def _tally(files: MemoryFiles, start: int, end: int, *, is_committed: bool = False) -> Tally:
    split = Split(Range(PARTITION, start, end), 0, DIRECTORY)
    return tally_split(files, split, is_committed=is_committed, sweeper=PlainSweeper())


def _counted(files: MemoryFiles, start: int, end: int, *, is_committed: bool = False) -> int:
    """Return what headers tell, and what is read of the rest."""
    told, untold = _tally(files, start, end, is_committed=is_committed)
    rest = [_read(files, part.start, part.end, is_committed=is_committed) for part in untold]
    return told + sum(rest)


def _read(files: MemoryFiles, start: int, end: int, *, is_committed: bool) -> int:
    wanted = ColumnsWanted(columns=("key",), start=start, end=end, is_committed=is_committed)
    batches = read_partition(reader(files), wanted, decoder=PlainDecoder())
    return sum(batch.num_rows for batch in batches)


@pytest.mark.parametrize("is_committed", (False, True))
@pytest.mark.parametrize("log", (TRANSACTIONS, OLD), ids=("transactions", "old"))
def test_count_is_that_of_a_reading_for_any_range(log: bytes, *, is_committed: bool) -> None:
    files = directory(log=log)
    end = reader(files).offsets().log_end

    for start in range(end):
        for stop in range(start + 1, end + 1):
            counted = _counted(files, start, stop, is_committed=is_committed)
            assert counted == _read(files, start, stop, is_committed=is_committed), (start, stop)


@pytest.mark.parametrize("is_committed", (False, True))
@pytest.mark.parametrize("start", (0, 1, 4))
def test_count_goes_on_from_run_to_run(start: int, *, is_committed: bool) -> None:
    files = directory(log=RUNS)

    counted = _counted(files, start, 9, is_committed=is_committed)

    assert counted == _read(files, start, 9, is_committed=is_committed)


def test_headers_tell_all_of_whole_batches() -> None:
    files = directory(log=TRANSACTIONS)

    assert _tally(files, 0, 16) == Tally(10, [])
    assert _tally(files, 2, 14) == Tally(6, [])


def test_batch_of_which_a_part_is_asked_for_is_read() -> None:
    _, untold = _tally(directory(log=RUNS), 1, 9)

    assert untold == [Range(PARTITION, 1, 2), Range(PARTITION, 6, 9)]


def test_what_was_lost_is_left_to_be_read() -> None:
    files = directory(log_5=v2(5, 6) + v2(7))

    assert _tally(files, 5, 8) == Tally(3, [])
    assert _tally(files, 2, 8) == Tally(0, [Range(PARTITION, 2, 8)])
    assert _tally(files, 5, 9) == Tally(3, [Range(PARTITION, 8, 9)])


def test_what_a_cleaner_took_is_not_looked_for() -> None:
    assert _tally(directory(log=v2(0) + v2(5)), 0, 6) == Tally(2, [])
    assert _tally(directory(log=v2(0) + v2(5)), 1, 6) == Tally(1, [])


def test_count_opens_wrappers() -> None:
    log = legacy(1, b"a", b"b", b"c", codec=Codec.GZIP)

    assert _counted(directory(log=log), 0, 3) == 3
    assert _counted(directory(log=log), 1, 3) == 2
