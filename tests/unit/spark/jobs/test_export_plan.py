"""What goes into a table next."""

import pytest

from cordwood.core.errors import TableError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.bounds import Extent
from cordwood.spark.holdings import Range
from cordwood.spark.jobs.export_ledger import Held, Shape, Standing, Stretch
from cordwood.spark.jobs.export_plan import follow, refuse_lost, stretches_of
from cordwood.spark.options import Bound, SourceOptions
from cordwood.spark.planning import Plan
from cordwood.spark.splits import Split

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))
OTHERS = TopicPartition(TopicName("orders"), PartitionId(1))


def _split(start: int, end: int, partition: TopicPartition = ORDERS, size: int = 100) -> Split:
    return Split(Range(partition, start, end), size, "/logs/orders-0")


def _standing(start: int, end: int) -> Standing:
    return Standing(shape=Shape(columns=("offset",)), held={ORDERS: Held(start, end)})


def _ranges(splits: list[Split]) -> list[tuple[int, int]]:
    return [(split.range.start, split.range.end) for split in splits]


def _plan(*splits: Split, start: int | None = None, end: int | None = None) -> Plan:
    """Return a plan of these splits of one partition."""
    partition, first, _ = splits[0].range
    last = splits[-1].range.end if end is None else end
    wanted = Range(partition, first if start is None else start, last)
    return Plan({partition: Extent(first, last)}, {partition: wanted}, [*splits])


def _follow(plan: Plan, start: int, end: int, *, is_given: bool = False) -> list[tuple[int, int]]:
    """Return what is left behind a table that has these offsets."""
    options = (
        SourceOptions(starting=Bound(is_time=True, default=7)) if is_given else SourceOptions()
    )
    return _ranges(follow(plan, _standing(start, end), options=options, table="lake"))


def test_splits_behind_the_tables_end_are_left() -> None:
    assert _follow(_plan(_split(0, 10), _split(10, 20)), 0, 10) == [(10, 20)]


def test_split_that_the_tables_end_is_in_is_cut() -> None:
    plan = _plan(_split(0, 10))

    (left,) = follow(plan, _standing(0, 4), options=SourceOptions(), table="lake")

    assert (left.range.start, left.range.end, left.size) == (4, 10, 60)


def test_partitions_that_the_table_lacks_are_left_whole() -> None:
    assert _follow(_plan(_split(5, 9, OTHERS)), 0, 4) == [(5, 9)]


def test_start_that_the_table_began_at_goes_on_where_it_ends() -> None:
    assert _follow(_plan(_split(3, 10)), 3, 7, is_given=True) == [(7, 10)]


def test_start_that_the_table_ends_at_goes_on_there() -> None:
    assert _follow(_plan(_split(7, 10)), 3, 7, is_given=True) == [(7, 10)]


def test_start_in_the_middle_of_the_table_is_refused() -> None:
    with pytest.raises(TableError, match="would have offsets 5 to 6 of orders-0 twice"):
        _follow(_plan(_split(5, 10)), 3, 7, is_given=True)


def test_start_behind_the_tables_end_is_refused() -> None:
    with pytest.raises(TableError, match="would lack offsets 7 to 8 of orders-0"):
        _follow(_plan(_split(9, 10)), 3, 7, is_given=True)


def test_log_that_ends_before_the_table_is_refused() -> None:
    with pytest.raises(TableError, match="orders-0 up to offset 7, and the log ends at 5"):
        _follow(_plan(_split(0, 5)), 0, 7)


def test_end_that_is_given_may_lie_before_the_tables() -> None:
    assert _follow(_plan(_split(0, 5), end=9), 0, 7) == []


def test_offsets_that_retention_took_are_refused() -> None:
    with pytest.raises(TableError, match="lacks offsets 7 to 8 of orders-0, which the log has no"):
        refuse_lost([_split(9, 20)], _standing(0, 7), table="lake")


def test_nothing_is_lost_where_the_log_goes_on() -> None:
    refuse_lost([_split(7, 20), _split(3, 4, OTHERS)], _standing(0, 7), table="lake")


def test_stretch_begins_where_the_table_ends() -> None:
    held = {ORDERS: Held(0, 7)}
    records = {Range(ORDERS, 9, 15): 6, Range(ORDERS, 15, 20): 5}

    (stretch,) = stretches_of([_split(9, 15), _split(15, 20)], records, held=held)

    assert stretch == Stretch(ORDERS, 7, 20, records=11, lost=2)


def test_hole_between_splits_begins_another_stretch() -> None:
    splits = [_split(0, 5), _split(8, 9), _split(0, 2, OTHERS)]

    assert stretches_of(splits, {}, held={}) == [
        Stretch(ORDERS, 0, 5),
        Stretch(ORDERS, 5, 9, lost=3),
        Stretch(OTHERS, 0, 2),
    ]
