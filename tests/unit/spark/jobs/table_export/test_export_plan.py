"""Plan of an export: splits after the table's end, and commit ranges."""

import pytest

from cordwood.core.errors import TableError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.jobs.table_export.export_plan import check_lost, commit_ranges, splits_after_end
from cordwood.spark.jobs.tables.table_ledger import (
    CommitRange,
    ExportedOffsets,
    TableLayout,
    TableState,
)
from cordwood.spark.source.coverage import OffsetRange, PartitionDirectory
from cordwood.spark.source.offset_resolution import PartitionExtent
from cordwood.spark.source.source_options import OffsetRangeLimit, SourceOptions
from cordwood.spark.source.split_planning import ReadPlan
from cordwood.spark.source.splits import Split

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))
OTHERS = TopicPartition(TopicName("orders"), PartitionId(1))


def _split(start: int, end: int, partition: TopicPartition = ORDERS, size: int = 100) -> Split:
    return Split(OffsetRange(partition, start, end), size, PartitionDirectory("/logs/orders-0"))


def _state(start: int, end: int) -> TableState:
    return TableState(
        layout=TableLayout(columns=("offset",)), exported={ORDERS: ExportedOffsets(start, end)}
    )


def _ranges(splits: list[Split]) -> list[tuple[int, int]]:
    return [(split.range.start, split.range.end) for split in splits]


def _plan(*splits: Split, start: int | None = None, end: int | None = None) -> ReadPlan:
    """Return a read plan with these splits of one partition."""
    partition, first, _ = splits[0].range
    last = splits[-1].range.end if end is None else end
    wanted = OffsetRange(partition, first if start is None else start, last)
    return ReadPlan({partition: PartitionExtent(first, last)}, {partition: wanted}, [*splits])


def _follow(
    plan: ReadPlan, start: int, end: int, *, is_given: bool = False
) -> list[tuple[int, int]]:
    """Return the splits after a table with these offsets."""
    options = (
        SourceOptions(starting=OffsetRangeLimit(is_time=True, default=7))
        if is_given
        else SourceOptions()
    )
    return _ranges(splits_after_end(plan, _state(start, end), options=options, table="lake"))


def test_splits_after_the_end_of_the_table_remain() -> None:
    assert _follow(_plan(_split(0, 10), _split(10, 20)), 0, 10) == [(10, 20)]


def test_split_that_contains_the_end_of_the_table_is_cut() -> None:
    plan = _plan(_split(0, 10))

    (left,) = splits_after_end(plan, _state(0, 4), options=SourceOptions(), table="lake")

    assert (left.range.start, left.range.end, left.size) == (4, 10, 60)


def test_new_partitions_remain_whole() -> None:
    assert _follow(_plan(_split(5, 9, OTHERS)), 0, 4) == [(5, 9)]


def test_start_of_the_table_resumes_at_its_end() -> None:
    assert _follow(_plan(_split(3, 10)), 3, 7, is_given=True) == [(7, 10)]


def test_start_at_the_end_of_the_table_resumes_there() -> None:
    assert _follow(_plan(_split(7, 10)), 3, 7, is_given=True) == [(7, 10)]


def test_start_in_the_middle_of_the_table_is_rejected() -> None:
    with pytest.raises(TableError, match="offsets 5 to 6 of orders-0 would be duplicated"):
        _follow(_plan(_split(5, 10)), 3, 7, is_given=True)


def test_start_after_the_end_of_the_table_is_rejected() -> None:
    with pytest.raises(TableError, match="offsets 7 to 8 of orders-0 would be missing"):
        _follow(_plan(_split(9, 10)), 3, 7, is_given=True)


def test_log_that_ends_before_the_table_is_rejected() -> None:
    with pytest.raises(TableError, match=r"orders-0: table ends at offset 7, after the log \(5\)"):
        _follow(_plan(_split(0, 5)), 0, 7)


def test_configured_end_can_be_before_the_end_of_the_table() -> None:
    assert _follow(_plan(_split(0, 5), end=9), 0, 7) == []


def test_offsets_deleted_by_retention_are_rejected() -> None:
    with pytest.raises(TableError, match="lacks offsets 7 to 8 of orders-0, which were deleted"):
        check_lost([_split(9, 20)], _state(0, 7), table="lake")


def test_consecutive_log_has_no_lost_offsets() -> None:
    check_lost([_split(7, 20), _split(3, 4, OTHERS)], _state(0, 7), table="lake")


def test_commit_range_begins_at_the_end_of_the_table() -> None:
    held = {ORDERS: ExportedOffsets(0, 7)}
    records = {OffsetRange(ORDERS, 9, 15): 6, OffsetRange(ORDERS, 15, 20): 5}

    (stretch,) = commit_ranges([_split(9, 15), _split(15, 20)], records, exported=held)

    assert stretch == CommitRange(ORDERS, 7, 20, records=11, lost=2)


def test_gap_between_splits_begins_another_range() -> None:
    splits = [_split(0, 5), _split(8, 9), _split(0, 2, OTHERS)]

    assert commit_ranges(splits, {}, exported={}) == [
        CommitRange(ORDERS, 0, 5),
        CommitRange(ORDERS, 5, 9, lost=3),
        CommitRange(OTHERS, 0, 2),
    ]
