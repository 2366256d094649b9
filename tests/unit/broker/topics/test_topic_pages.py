"""Tests of pages of topics."""

import pytest

from cordwood.broker.topics.topic_pages import TopicCursor, page_of
from cordwood.core.errors import InvalidRequestError
from tests.unit.broker.image_samples import cluster, topic

TOPICS = cluster(topic("b", 2), topic("a", 3), topic("c", 1)).topics


def page(
    *names: str, start: TopicCursor | None = None, limit: int = 100
) -> tuple[list[tuple[str, list[int]]], TopicCursor | None]:
    found = page_of(TOPICS, names, start=start, limit=limit)
    return [(part.name, [*part.partitions]) for part in found.entries], found.next_cursor


def test_all_topics_are_paged_by_default() -> None:
    assert page() == ([("a", [0, 1, 2]), ("b", [0, 1]), ("c", [0])], None)


def test_named_topics_are_returned_once() -> None:
    assert page("c", "a", "c") == ([("a", [0, 1, 2]), ("c", [0])], None)


def test_page_ends_within_a_topic() -> None:
    assert page(limit=4) == ([("a", [0, 1, 2]), ("b", [0])], TopicCursor("b", 1))


def test_page_ends_with_a_topic() -> None:
    assert page(limit=3) == ([("a", [0, 1, 2])], TopicCursor("b", 0))


def test_page_starts_where_the_previous_one_ended() -> None:
    assert page(start=TopicCursor("b", 1), limit=1) == ([("b", [1])], TopicCursor("c", 0))


def test_page_starts_with_the_next_topic_when_its_topic_is_deleted() -> None:
    assert page(start=TopicCursor("bb", 1)) == ([("c", [0])], None)


def test_page_begins_after_the_last_partition_of_a_topic() -> None:
    assert page(start=TopicCursor("b", 7)) == ([("b", []), ("c", [0])], None)


def test_missing_named_topic_is_on_the_page() -> None:
    assert page("x", "a", limit=3) == ([("a", [0, 1, 2])], TopicCursor("x", 0))
    assert page_of(TOPICS, ["x"], start=None, limit=1).entries[0].topic is None


@pytest.mark.parametrize("start", (TopicCursor("a", -1), TopicCursor("b", 0)))
def test_invalid_start_is_rejected(start: TopicCursor) -> None:
    with pytest.raises(InvalidRequestError, match="DescribeTopicPartitionsRequest"):
        page("a", start=start)
