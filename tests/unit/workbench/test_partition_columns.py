"""Records of a directory as columns: isolation, views, damage, and a replaced file."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.storage.reader.partition_reader import PartitionCheckpoints, PartitionReader
from cordwood.storage.reader.segment_walk import SegmentBatchRun
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.partition_columns import MAX_READS, ColumnsRequest, read_partition
from tests.unit.records.segments import legacy
from tests.unit.storage.log_samples import DIRECTORY
from tests.unit.storage.reader_samples import directory, harm, name, put, reader
from tests.unit.storage.segment_samples import marker, message, produced, times, v2

TRANSACTIONS = (
    v2(0)
    + produced(1, 2, producer_id=1)
    + produced(3, 4, producer_id=2)
    + marker(5, producer_id=1, is_commit=False)
    + marker(6, producer_id=2, is_commit=True)
    + v2(7)
    + produced(8, 9, producer_id=1)
)


def read(found: PartitionReader, wanted: ColumnsRequest) -> Iterator[int]:
    for batch in read_partition(found, wanted, decoder=PlainDecoder()):
        yield from batch.column("offset").to_pylist()


def wanted(
    *, start: int = 0, end: int | None = None, is_committed: bool = False, is_view: bool = False
) -> ColumnsRequest:
    return ColumnsRequest(
        columns=("offset", "value"),
        start=start,
        end=end,
        is_committed=is_committed,
        is_view=is_view,
    )


@pytest.mark.parametrize("is_view", (False, True))
def test_uncommitted_reading_has_every_record(*, is_view: bool) -> None:
    found = reader(directory(log=TRANSACTIONS))

    assert list(read(found, wanted(is_view=is_view))) == [0, 1, 2, 3, 4, 7, 8, 9]
    assert list(read(found, wanted(start=2, end=8, is_view=is_view))) == [2, 3, 4, 7]


def test_read_committed_leaves_out_aborted_and_open_transactions() -> None:
    found = reader(directory(log=TRANSACTIONS))

    assert list(read(found, wanted(is_committed=True))) == [0, 3, 4, 7]
    assert list(read(found, wanted(is_committed=True, end=4))) == [0, 3]
    assert list(read(found, wanted(is_committed=True, start=2))) == [3, 4, 7]


def test_committed_reading_keeps_all_of_a_log_without_transactions() -> None:
    found = reader(directory(log=v2(0, 3) + message(4)))

    assert list(read(found, wanted(is_committed=True))) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("start", range(6))
def test_reading_may_begin_and_end_inside_of_wrappers(start: int) -> None:
    values = (b"a", b"b", b"c")
    log = legacy(1, *values, codec=Codec.GZIP) + legacy(1, *values, codec=Codec.GZIP, base_offset=3)
    found = reader(directory(log=log))

    for end in range(start, 7):
        assert list(read(found, wanted(start=start, end=end))) == list(range(start, end))


def test_damaged_batch_is_raised_after_all_rows_before_it() -> None:
    files = directory(log=v2(0, 1) + v2(2) + v2(3, 5) + v2(6))
    harm(files, name(0), len(v2(0, 1) + v2(2)) + 62)
    reading = read(reader(files), wanted())

    rows = [next(reading) for _ in range(3)]

    assert rows == [0, 1, 2]
    with pytest.raises(CorruptMessageError, match=rf"{name(0)}: .*restore") as refused:
        next(reading)
    assert (refused.value.position, refused.value.base_offset) == (len(v2(0, 1) + v2(2)), 3)


def test_damaged_first_batch_is_raised_with_its_place() -> None:
    files = directory(log=v2(0, 1) + v2(2), log_3=v2(3, 5) + v2(6))
    harm(files, name(3), 62)

    with pytest.raises(CorruptMessageError, match=name(3)):
        list(read(reader(files), wanted(start=3)))


class SourceThatIsLate(DirectorySource):
    """A source that returns old bytes of a batch a number of times."""

    def __init__(self, files: MemoryFiles, before: bytes, times: int) -> None:
        super().__init__(files, DIRECTORY)
        self.before = before
        self.times = times

    def read_into(self, name: str, buffer: bytearray | memoryview, position: int) -> int:
        count = super().read_into(name, buffer, position)
        if self.times:
            self.times -= 1
            buffer[:count] = self.before[position : position + count]
        return count


@pytest.mark.parametrize(("times", "is_read"), ((MAX_READS - 1, True), (MAX_READS, False)))
def test_batch_is_read_again_before_it_is_called_damaged(*, times: int, is_read: bool) -> None:
    whole = v2(0, 1) + v2(2, 3) + v2(4)
    at = len(v2(0, 1)) + 70
    files = directory(log=whole)
    late = SourceThatIsLate(files, whole[:at] + b"\xee" + whole[at + 1 :], times=times)
    rows: list[int] = []

    try:
        for row in read(PartitionReader(late), wanted()):
            rows.append(row)  # noqa: PERF402  # it may raise in the middle
    except CorruptMessageError:
        assert not is_read
        assert rows == [0, 1]
    else:
        assert is_read
        assert rows == [0, 1, 2, 3, 4]


def test_returned_rows_are_unchanged_when_the_window_is_reused() -> None:
    builder = BatchBuilder(BatchFields(base_offset=3))
    builder.append(None, b"another value", timestamp=1)
    files = directory(log=v2(0, 2), log_3=bytes(builder.build()))

    batches = list(read_partition(reader(files), wanted(is_view=True), decoder=PlainDecoder()))

    assert [each.column("value").to_pylist()[-1] for each in batches] == [b"", b"another value"]


def test_files_are_closed_when_a_reading_ends_or_is_left() -> None:
    source = DirectorySource(directory(log=v2(0) + v2(1)), DIRECTORY)
    whole, left = (read(PartitionReader(source), wanted(is_committed=True)) for _ in range(2))

    list(whole)
    after_the_end = source.open_count
    next(left)
    in_the_middle = source.open_count
    del left

    assert (after_the_end, in_the_middle > 0, source.open_count) == (0, True, 0)


def test_empty_log_has_no_rows() -> None:
    files = directory()
    put(files, name(0), b"")

    assert list(read(reader(files), wanted(is_committed=True))) == []


@pytest.mark.parametrize("start", (0, 2, 3, 6))
def test_part_that_is_decided_is_read_as_the_whole_log_is(start: int) -> None:
    found = reader(directory(log=TRANSACTIONS))
    part = ColumnsRequest(
        columns=("offset",), start=start, end=8, is_committed=True, is_decided=True
    )

    assert list(read(found, part)) == [each for each in (0, 3, 4, 7) if each >= start]


def test_transaction_that_is_aborted_behind_the_part_is_left_out() -> None:
    found = reader(directory(log=TRANSACTIONS))
    part = ColumnsRequest(columns=("offset",), end=3, is_committed=True, is_decided=True)

    assert list(read(found, part)) == [0]


def test_records_are_selected_by_timestamp() -> None:
    log = times(0, 10, 20, 30) + times(3, 15, 40)
    part = ColumnsRequest(columns=("offset",), min_timestamp=15, max_timestamp=30)

    assert list(read(reader(directory(log=log)), part)) == [1, 2, 3]


class Lost:
    """A recorder of the offsets that a log has lost."""

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int]] = []

    def __call__(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        self.ranges.append((start, end))
        yield pa.record_batch({"offset": pa.array([-1], pa.int64())})


def _read_or_lost(
    found: PartitionReader, *, start: int = 0, end: int = 6
) -> tuple[list[int], Lost]:
    lost, part = Lost(), ColumnsRequest(columns=("offset",), start=start, end=end)
    batches = read_partition(found, part, decoder=PlainDecoder(), in_place_of=lost)
    return [offset for each in batches for offset in each.column("offset").to_pylist()], lost


def test_lost_start_of_a_log_is_reported_and_filled() -> None:
    offsets, lost = _read_or_lost(
        reader(directory(log_3=v2(3, 5)), PartitionCheckpoints(log_start=3))
    )

    assert (offsets, lost.ranges) == ([-1, 3, 4, 5], [(0, 3)])


def test_lost_end_of_a_log_is_reported_and_filled() -> None:
    offsets, lost = _read_or_lost(reader(directory(log=v2(0, 3))))

    assert (offsets, lost.ranges) == ([0, 1, 2, 3, -1], [(4, 6)])


def test_log_that_was_emptied_has_lost_everything() -> None:
    offsets, lost = _read_or_lost(
        reader(directory(log_9=b""), PartitionCheckpoints(log_start=9)), start=2
    )

    assert (offsets, lost.ranges) == ([-1], [(2, 6)])


def test_compacted_offsets_are_not_lost() -> None:
    offsets, lost = _read_or_lost(reader(directory(log=v2(1) + v2(3) + v2(9))))

    assert (offsets, lost.ranges) == ([1, 3], [])


@pytest.mark.parametrize("failures", (MAX_READS - 1, MAX_READS))
def test_run_that_its_observer_rejects_is_read_again(failures: int) -> None:
    found, left = reader(directory(log=TRANSACTIONS)), list(range(failures))

    def reject(run: SegmentBatchRun) -> None:
        if left:
            raise CorruptMessageError(f"read {left.pop()} of {len(run.data)} bytes")

    rows = read_partition(found, wanted(), decoder=PlainDecoder(), on_run=reject)

    if failures == MAX_READS:
        with pytest.raises(CorruptMessageError, match="read 0 of"):
            list(rows)
    else:
        assert sum(len(each) for each in rows) == 8
