"""Topics told of page by page: by their names' order, so many partitions at a time.

A page begins where the one before ended, at a partition of a topic. That topic may be gone by then;
whoever asks for all topics goes on with the next one.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from cordwood.broker.image import TopicImage
from cordwood.core.errors import InvalidRequestError


class Position(NamedTuple):
    """A partition of a topic, with which a page begins."""

    topic: str
    partition: int


class Part(NamedTuple):
    """Those partitions of a topic that are on a page; the topic is None if there is none."""

    name: str
    topic: TopicImage | None
    partitions: range


class Page(NamedTuple):
    """One page, and where the next one begins, if there is one."""

    parts: list[Part]
    then: Position | None


def page_of(
    topics: Mapping[str, TopicImage],
    names: Collection[str],
    *,
    start: Position | None,
    limit: int,
) -> Page:
    """Return one page of the topics with these names, or of all if there are none."""
    _check(names, start)
    begin = start or Position("", 0)
    page, left = Page([], None), limit
    for name in sorted(each for each in set(names or topics) if each >= begin.topic):
        if left == 0:
            return page._replace(then=Position(name, 0))
        topic = topics.get(name)
        first = begin.partition if name == begin.topic else 0
        count = 0 if topic is None else len(topic.partitions)
        end = min(count, first + left)
        page.parts.append(Part(name, topic, range(first, end)))
        if end < count:
            return page._replace(then=Position(name, end))
        left -= max(0, end - first)
    return page


def _check(names: Collection[str], start: Position | None) -> None:
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
