"""Coverage of offset ranges by sources, and gaps."""

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.source.coverage import (
    AvailableRange,
    BrokerSource,
    OffsetRange,
    PartitionDirectory,
    PlannedRead,
    cover,
)

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))
HISTORY = AvailableRange(0, 60, PartitionDirectory("/logs/orders-0"))
BROKERS = AvailableRange(40, 100, BrokerSource())


def _range(start: int, end: int) -> OffsetRange:
    return OffsetRange(ORDERS, start, end)


def test_history_is_read_from_segments_and_the_rest_from_brokers() -> None:
    reads, gaps = cover(_range(10, 90), [HISTORY, BROKERS])

    assert reads == [
        PlannedRead(_range(10, 60), PartitionDirectory("/logs/orders-0")),
        PlannedRead(_range(60, 90), BrokerSource()),
    ]
    assert gaps == []


def test_offset_is_read_from_the_first_source_that_has_it() -> None:
    reads, _ = cover(_range(0, 100), [BROKERS, HISTORY])

    assert reads == [
        PlannedRead(_range(0, 40), PartitionDirectory("/logs/orders-0")),
        PlannedRead(_range(40, 100), BrokerSource()),
    ]


def test_offsets_that_no_source_has_are_gaps() -> None:
    reads, gaps = cover(
        _range(0, 100),
        [AvailableRange(10, 20, PartitionDirectory("/d")), AvailableRange(70, 90, BrokerSource())],
    )

    assert [(each.range.start, each.range.end) for each in reads] == [(10, 20), (70, 90)]
    assert gaps == [_range(0, 10), _range(20, 70), _range(90, 100)]


def test_empty_range_has_neither_reads_nor_gaps() -> None:
    assert cover(_range(50, 50), [HISTORY]) == ([], [])


def test_range_that_begins_after_all_ends_is_a_gap() -> None:
    assert cover(OffsetRange(ORDERS, 120, 100), [HISTORY, BROKERS]) == ([], [_range(100, 120)])


def test_range_is_shown_by_its_first_and_last_offset() -> None:
    assert str(_range(10, 20)) == "offsets 10 to 19 of orders-0"
