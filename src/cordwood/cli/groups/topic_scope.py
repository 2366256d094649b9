"""Topics and partitions of a command: `--topic orders` or `--topic orders:0,1`."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import typer

from cordwood.cli.topic_selection import select_topics

if TYPE_CHECKING:
    from cordwood.client.blocking import Admin
    from cordwood.core.types import TopicPartition


def parse_topics(texts: Iterable[str]) -> dict[str, list[int]]:
    """Parse topics, each with its partitions; none stands for all of them."""
    topics: dict[str, list[int]] = {}
    for text in texts:
        topic, colon, numbers = text.partition(":")
        words = numbers.split(",") if colon else []
        if not topic or not all(word.isdecimal() for word in words):
            raise typer.BadParameter(
                f"{text!r} is not a topic; give orders, or orders:0,1 for two of its partitions"
            )
        topics.setdefault(topic, []).extend(map(int, words))
    return topics


def _expanded(topics: dict[str, list[int]], existing: Collection[str]) -> dict[str, list[int]]:
    """Return the topics with each regular expression replaced by the names that it matches."""
    found: dict[str, list[int]] = {}
    for text, numbers in topics.items():
        for name in select_topics([text], existing):
            found.setdefault(name, []).extend(numbers)
    return found


def partitions_in(admin: "Admin", texts: Iterable[str]) -> "list[TopicPartition]":
    """Return the partitions of topics; raise if the cluster does not have one of them."""
    from cordwood.client.topic_partitions import partitions_of  # noqa: PLC0415  # help needs none
    from cordwood.core.errors import UnknownTopicOrPartitionError  # noqa: PLC0415  # as above

    topics = _expanded(parse_topics(texts), admin.list_topics(with_internal=True))
    pairs: list[tuple[str, int]] = []
    for each in admin.describe_topics(topics):
        existing = [part.partition for part in each.partitions]
        for number in topics[each.name]:
            if number not in existing:
                raise UnknownTopicOrPartitionError(
                    f"topic {each.name!r}: has no partition {number} (it has {len(existing)});"
                    f" give a number from 0 to {len(existing) - 1}"
                )
        pairs += [(each.name, number) for number in topics[each.name] or existing]
    return sorted(partitions_of(dict.fromkeys(pairs)))
