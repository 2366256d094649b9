"""Pages of topics for DescribeTopicPartitions, by name (Kafka:
`DescribeTopicPartitionsRequestHandler`).

A page has a limited number of partitions. It begins at a cursor: a partition of a topic, where the
page before it ended. If that topic has been deleted, a request for all topics continues with the
next one.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from cordwood.broker.metadata.metadata_image import ClusterImage, TopicImage
from cordwood.core.errors import InvalidRequestError


class TopicCursor(NamedTuple):
    """The partition that a page begins with."""

    topic: str
    partition: int


class TopicPageEntry(NamedTuple):
    """The partitions of a topic on one page; `topic` is None if it does not exist."""

    name: str
    topic: TopicImage | None
    partitions: range


class TopicPage(NamedTuple):
    """One page, and the cursor of the next one if there is one."""

    entries: list[TopicPageEntry]
    next_cursor: TopicCursor | None


class SortedTopics(NamedTuple):
    """The topics of an image, and their names in order: sorting thousands takes milliseconds."""

    names: Sequence[str]
    by_name: Mapping[str, TopicImage]


async def sorted_topics(image: ClusterImage) -> SortedTopics:
    """Return the topics of an image; the metadata cache keeps them."""
    return SortedTopics(sorted(image.topics), image.topics)


def page_of(
    topics: SortedTopics, names: Collection[str], *, start: TopicCursor | None, limit: int
) -> TopicPage:
    """Return one page of the topics with these names, or of all topics if `names` is empty."""
    _check(names, start)
    begin = start or TopicCursor("", 0)
    page, left = TopicPage([], None), limit
    ordered = sorted({*names}) if names else topics.names
    for at in range(bisect_left(ordered, begin.topic), len(ordered)):
        name = ordered[at]
        if left == 0:
            return page._replace(next_cursor=TopicCursor(name, 0))
        topic = topics.by_name.get(name)
        first = begin.partition if name == begin.topic else 0
        count = 0 if topic is None else len(topic.partitions)
        end = min(count, first + left)
        page.entries.append(TopicPageEntry(name, topic, range(first, end)))
        if end < count:
            return page._replace(next_cursor=TopicCursor(name, end))
        left -= max(0, end - first)
    return page


def _check(names: Collection[str], start: TopicCursor | None) -> None:
    if start is None:
        return
    if start.partition < 0:
        raise InvalidRequestError(
            f"DescribeTopicPartitionsRequest cursor partition must be valid: {start.partition}"
        )
    if names and start.topic not in names:
        raise InvalidRequestError(
            "DescribeTopicPartitionsRequest topic list should contain the cursor topic:"
            f" {start.topic}"
        )
