"""Assignments as text: `a 1:0,1 2:0` is member a with partitions 0 and 1 of topic 1, and 0 of 2."""

from collections.abc import Mapping

from cordwood.client.group.assignors.assignor import GroupAssignment, SubscribedMember
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.types import TopicPartition


def owned(text: str) -> tuple[TopicPartition, ...]:
    """Return the partitions of `1:0,1 2:0`."""
    pairs = [each.split(":") for each in text.split()]
    return tuple(
        partitions_of((topic, int(each)) for topic, some in pairs for each in some.split(","))
    )


def members(
    topics: Mapping[str, str], before: Mapping[str, str] | None = None, *, generation: int = 1
) -> list[SubscribedMember]:
    """Return members with a topic per character, and the partitions that they own."""
    claims = before or {}
    return [
        SubscribedMember(name, frozenset(some), owned(claims.get(name, "")), generation)
        for name, some in topics.items()
    ]


def text_of(assigned: GroupAssignment) -> dict[str, str]:
    """Return the partitions of each member as text."""
    found = {}
    for name, partitions in assigned.items():
        topics: dict[str, list[str]] = {}
        for each in sorted(partitions):
            topics.setdefault(each.topic, []).append(str(each.partition))
        found[name] = " ".join(f"{topic}:{','.join(some)}" for topic, some in topics.items())
    return found
