"""Tests of pages of topics."""

from collections.abc import Sequence
from typing import overload

import pytest

from cordwood.broker.topics.topic_pages import SortedTopics, TopicCursor, page_of, sorted_topics
from cordwood.core.errors import InvalidRequestError
from tests.unit.broker.broker_samples import run
from tests.unit.broker.image_samples import cluster, topic

TOPICS = run(sorted_topics(cluster(topic("b", 2), topic("a", 3), topic("c", 1))))


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


class CountedNames(Sequence[str]):
    """Names in order, which counts the names that are read."""

    def __init__(self, names: Sequence[str]) -> None:
        self.reads = 0
        self._names = names

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        self.reads += 1
        return self._names[index]


def test_page_of_many_topics_does_not_read_all_names() -> None:
    image = cluster(*(topic(f"{number:05}") for number in range(10_000)))
    names = CountedNames(sorted(image.topics))

    found = page_of(SortedTopics(names, image.topics), (), start=TopicCursor("05000", 0), limit=2)

    assert [each.name for each in found.entries] == ["05000", "05001"]
    assert found.next_cursor == TopicCursor("05002", 0)
    assert names.reads < 20
