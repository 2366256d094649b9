"""Tests of the pieces of a request with many partitions."""

from cordwood.broker.handlers.topic_pieces import MOST_PARTITIONS, are_few, join, pieces
from cordwood.protocol.messages.offset_delete import (
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from cordwood.protocol.messages.offset_fetch import OffsetFetchRequestTopic


def divided(*counts: int, most: int = 3) -> list[list[tuple[str, list[int]]]]:
    """Return the pieces of topics with these numbers of partitions."""
    topics = [
        OffsetFetchRequestTopic(name=f"t{number}", partition_indexes=[*range(count)])
        for number, count in enumerate(counts)
    ]
    return [
        [(each.name, each.partition_indexes) for each in piece]
        for piece in pieces(topics, "partition_indexes", most=most)
    ]


def test_request_that_fits_is_one_piece() -> None:
    assert divided(1, 2) == [[("t0", [0]), ("t1", [0, 1])]]
    assert divided() == [[]]
    assert divided(0) == [[("t0", [])]]


def test_topic_that_does_not_fit_is_divided() -> None:
    assert divided(2, 5) == [
        [("t0", [0, 1]), ("t1", [0])],
        [("t1", [1, 2, 3])],
        [("t1", [4])],
    ]


def test_topic_without_partitions_counts_as_one() -> None:
    assert divided(2, 0, 2) == [
        [("t0", [0, 1]), ("t1", [])],
        [("t2", [0, 1])],
    ]
    assert [len(each) for each in divided(0, 0, 0, 0)] == [3, 1]


def test_divided_topic_is_one_topic_in_the_response() -> None:
    topics = [OffsetDeleteResponseTopic(name="a", partitions=[])]
    more = OffsetDeleteResponsePartition(partition_index=1, error_code=0)
    other = OffsetDeleteResponseTopic(name="b", partitions=[])

    join(topics, [OffsetDeleteResponseTopic(name="a", partitions=[more]), other], "name")

    assert [(each.name, len(each.partitions)) for each in topics] == [("a", 1), ("b", 0)]


def test_pieces_are_filled_exactly() -> None:
    assert [len(each) for each in divided(3, 3, 3)] == [1, 1, 1]


def test_topics_are_few_if_they_are_one_piece() -> None:
    topic = OffsetFetchRequestTopic(name="t", partition_indexes=[*range(MOST_PARTITIONS)])
    other = OffsetFetchRequestTopic(name="u", partition_indexes=[])

    assert are_few([topic], "partition_indexes")
    assert not are_few([topic, other], "partition_indexes")
