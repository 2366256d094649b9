"""Topics come page by page, in the order of their names."""

import pytest

from cordwood.broker.topic_pages import Position, page_of
from cordwood.core.errors import InvalidRequestError
from tests.unit.broker.image_samples import cluster, topic

TOPICS = cluster(topic("b", 2), topic("a", 3), topic("c", 1)).topics


def page(
    *names: str, start: Position | None = None, limit: int = 100
) -> tuple[list[tuple[str, list[int]]], Position | None]:
    found = page_of(TOPICS, names, start=start, limit=limit)
    return [(part.name, [*part.partitions]) for part in found.parts], found.then


def test_all_topics_come_where_none_is_named() -> None:
    assert page() == ([("a", [0, 1, 2]), ("b", [0, 1]), ("c", [0])], None)


def test_named_topics_come_once_each() -> None:
    assert page("c", "a", "c") == ([("a", [0, 1, 2]), ("c", [0])], None)


def test_page_ends_within_a_topic() -> None:
    assert page(limit=4) == ([("a", [0, 1, 2]), ("b", [0])], Position("b", 1))


def test_page_ends_with_a_topic() -> None:
    assert page(limit=3) == ([("a", [0, 1, 2])], Position("b", 0))


def test_page_begins_where_the_one_before_ended() -> None:
    assert page(start=Position("b", 1), limit=1) == ([("b", [1])], Position("c", 0))


def test_page_begins_with_the_next_topic_when_one_is_gone() -> None:
    assert page(start=Position("bb", 1)) == ([("c", [0])], None)


def test_page_begins_after_the_last_partition_of_a_topic() -> None:
    assert page(start=Position("b", 7)) == ([("b", []), ("c", [0])], None)


def test_named_topic_that_is_not_there_is_on_the_page() -> None:
    assert page("x", "a", limit=3) == ([("a", [0, 1, 2])], Position("x", 0))
    assert page_of(TOPICS, ["x"], start=None, limit=1).parts[0].topic is None


@pytest.mark.parametrize("start", (Position("a", -1), Position("b", 0)))
def test_start_that_cannot_be_is_refused(start: Position) -> None:
    with pytest.raises(InvalidRequestError, match="DescribeTopicPartitionsRequest"):
        page("a", start=start)
