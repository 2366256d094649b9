"""Plan of an export: splits after the table's end, and commit ranges."""

import pytest

from cordwood.core.errors import TableError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.jobs.table_export.export_plan import (
    absent_partitions,
    check_lost,
    check_plan,
    commit_ranges,
    known_ends,
    truncated_ends,
)
from cordwood.spark.jobs.tables.table_ledger import (
    CommitRange,
    ExportedOffsets,
    TableLayout,
    TableState,
)
from cordwood.spark.source.coverage import KnownEnd, OffsetRange, PartitionDirectory
from cordwood.spark.source.offset_resolution import PartitionExtent, PartitionWitness
from cordwood.spark.source.source_options import OffsetRangeLimit, SourceOptions, TopicChoice
from cordwood.spark.source.split_planning import ReadPlan
from cordwood.spark.source.splits import Split

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))
OTHERS = TopicPartition(TopicName("orders"), PartitionId(1))
BY_TIME = SourceOptions(starting=OffsetRangeLimit(is_time=True, default=7))
BY_OFFSET = SourceOptions(
    starting=OffsetRangeLimit(is_time=False, default=-2, by_partition={ORDERS: 5})
)


def _split(start: int, end: int, partition: TopicPartition = ORDERS) -> Split:
    return Split(OffsetRange(partition, start, end), 100, PartitionDirectory("/logs/orders-0"))


def _state(start: int, end: int, *, epoch: int = 3) -> TableState:
    return TableState(
        layout=TableLayout(columns=("offset",)),
        exported={ORDERS: ExportedOffsets(start, end)},
        leader_epochs={ORDERS: epoch},
    )


def _plan(
    *splits: Split,
    extent: tuple[int, int] = (0, 20),
    start: int | None = None,
    truncated_at: int | None = None,
    partition: TopicPartition = ORDERS,
) -> ReadPlan:
    """Return a read plan of one partition, whose options begin at `start`."""
    first, end = extent
    wanted = OffsetRange(partition, first if start is None else start, end)
    return ReadPlan(
        {partition: PartitionExtent(first, end)},
        {partition: wanted},
        [*splits],
        witnesses={partition: PartitionWitness(end, 3, truncated_at)},
    )


def _check(plan: ReadPlan, state: TableState, options: SourceOptions = BY_OFFSET) -> None:
    check_plan(plan, state, options=options, table="lake")


def test_plan_begins_at_the_ends_of_the_table() -> None:
    assert known_ends(_state(0, 7)) == {ORDERS: KnownEnd(7, 3)}


@pytest.mark.parametrize("start", (5, 9))
def test_start_or_end_of_the_table_is_the_same_start(start: int) -> None:
    _check(_plan(start=start), _state(5, 9))


def test_start_in_the_middle_of_the_table_is_rejected() -> None:
    with pytest.raises(TableError, match="offsets 5 to 6 of orders-0 would be duplicated"):
        _check(_plan(start=5), _state(3, 7))


def test_start_after_the_end_of_the_table_is_rejected() -> None:
    with pytest.raises(TableError, match="offsets 7 to 8 of orders-0 would be missing"):
        _check(_plan(start=9), _state(3, 7))


def test_start_that_retention_has_passed_continues_the_table() -> None:
    plan = _plan(extent=(6, 20), start=6)

    _check(plan, _state(3, 7), options=BY_TIME)
    _check(plan, _state(3, 7), options=SourceOptions())
    _check(plan._replace(ranges={ORDERS: OffsetRange(ORDERS, 3, 20)}), _state(3, 7))


def test_log_that_ends_before_the_table_is_rejected() -> None:
    with pytest.raises(
        TableError, match=r"orders-0: table ends at offset 27, after the log \(20\)"
    ):
        _check(_plan(), _state(0, 27), options=SourceOptions())


def test_log_with_other_records_below_the_end_of_the_table_is_rejected() -> None:
    with pytest.raises(TableError, match="orders-0: the log was truncated to offset 4 after the"):
        _check(_plan(truncated_at=4), _state(0, 7), options=SourceOptions())


def test_truncated_ends_are_those_of_witnesses_of_a_truncation() -> None:
    witnesses = {ORDERS: PartitionWitness(20, 3, truncated_at=4), OTHERS: PartitionWitness(20, 3)}

    assert truncated_ends(witnesses) == {ORDERS: 4}


def test_missing_partition_of_a_selected_topic_is_rejected() -> None:
    plan = _plan(partition=OTHERS)

    with pytest.raises(TableError, match="orders-0 is in the table, but in no source"):
        _check(plan, _state(0, 7), options=SourceOptions())
    assert absent_partitions(plan, _state(0, 7)) == [ORDERS]


@pytest.mark.parametrize(
    "choice", (TopicChoice(assigned=frozenset({OTHERS})), TopicChoice(names=frozenset({"x"})))
)
def test_partition_that_is_not_selected_may_be_missing(choice: TopicChoice) -> None:
    _check(_plan(partition=OTHERS), _state(0, 7), options=SourceOptions(topics=choice))


def test_missing_topic_is_rejected_only_by_its_name() -> None:
    nothing = ReadPlan({}, {}, [])
    named = SourceOptions(topics=TopicChoice(names=frozenset({"orders"})))

    _check(nothing, _state(0, 7), options=SourceOptions())
    with pytest.raises(TableError, match="orders-0 is in the table, but in no source"):
        _check(nothing, _state(0, 7), options=named)


@pytest.mark.parametrize(
    ("splits", "lost"),
    (((_split(9, 20),), "7 to 8"), ((_split(7, 9), _split(12, 20)), "9 to 11"), ((), "7 to 19")),
)
def test_offsets_deleted_from_the_log_are_rejected(splits: tuple[Split, ...], lost: str) -> None:
    with pytest.raises(TableError, match=f"lacks offsets {lost} of orders-0, which were deleted"):
        check_lost(_plan(*splits), _state(0, 7), table="lake")


def test_consecutive_log_has_no_lost_offsets() -> None:
    check_lost(_plan(_split(7, 20)), _state(0, 7), table="lake")


def test_commit_range_begins_at_the_end_of_the_table() -> None:
    records = {OffsetRange(ORDERS, 9, 15): 6, OffsetRange(ORDERS, 15, 20): 5}

    (found,) = commit_ranges(
        [_split(9, 15), _split(15, 20)], records, state=_state(0, 7), plan=_plan()
    )

    assert found == CommitRange(ORDERS, 7, 20, records=11, lost=2)


def test_commit_range_of_a_new_partition_begins_where_the_options_do() -> None:
    splits = [_split(5, 9, OTHERS), _split(11, 12, OTHERS)]
    plan = _plan(partition=OTHERS, start=3)

    assert commit_ranges(splits, {}, state=_state(0, 7), plan=plan) == [
        CommitRange(OTHERS, 3, 9, lost=2),
        CommitRange(OTHERS, 9, 12, lost=2),
    ]
