"""What is read where, and what is nowhere."""

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.holdings import Holding, Piece, Range, cover

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))
HISTORY = Holding(0, 60, "/logs/orders-0")
BROKERS = Holding(40, 100, None)


def _range(start: int, end: int) -> Range:
    return Range(ORDERS, start, end)


def test_history_comes_of_segments_and_the_rest_of_brokers() -> None:
    pieces, holes = cover(_range(10, 90), [HISTORY, BROKERS])

    assert pieces == [Piece(_range(10, 60), "/logs/orders-0"), Piece(_range(60, 90), None)]
    assert holes == []


def test_first_place_that_has_an_offset_gives_it() -> None:
    pieces, _ = cover(_range(0, 100), [BROKERS, HISTORY])

    assert pieces == [Piece(_range(0, 40), "/logs/orders-0"), Piece(_range(40, 100), None)]


def test_what_no_place_has_is_a_hole() -> None:
    pieces, holes = cover(_range(0, 100), [Holding(10, 20, "/d"), Holding(70, 90, None)])

    assert [(each.range.start, each.range.end) for each in pieces] == [(10, 20), (70, 90)]
    assert holes == [_range(0, 10), _range(20, 70), _range(90, 100)]


def test_empty_range_has_neither_pieces_nor_holes() -> None:
    assert cover(_range(50, 50), [HISTORY]) == ([], [])


def test_range_that_begins_behind_the_end_of_everything_is_a_hole() -> None:
    assert cover(Range(ORDERS, 120, 100), [HISTORY, BROKERS]) == ([], [_range(100, 120)])


def test_range_is_told_by_its_first_and_last_offset() -> None:
    assert str(_range(10, 20)) == "offsets 10 to 19 of orders-0"
