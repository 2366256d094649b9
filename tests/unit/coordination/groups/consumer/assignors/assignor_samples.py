"""Assignments as text: `A 1:0-2 2:0; B -` gives A partitions 0 to 2 of topic 1 and 0 of topic 2."""

from collections.abc import Mapping
from typing import TypeAlias

from cordwood.coordination.groups.consumer.assignors.group_spec import (
    GroupAssignment,
    GroupSpec,
    MemberSpec,
    PartitionAssignor,
    TopicPartitionSets,
)
from cordwood.core.uuids import Uuid

Subscriptions: TypeAlias = Mapping[str, tuple[int, ...]]


def topic_id(number: int) -> Uuid:
    return Uuid(number.to_bytes(16, "big"))


def parsed(text: str) -> dict[str, TopicPartitionSets]:
    """Return the assignment of a text."""
    found = dict[str, TopicPartitionSets]()
    for member in filter(None, text.split("; ")):
        name, *topics = member.split()
        found[name] = dict(map(_topic, (each for each in topics if each != "-")))
    return found


def _topic(text: str) -> tuple[Uuid, frozenset[int]]:
    number, _, partitions = text.partition(":")
    found = set[int]()
    for each in partitions.split(","):
        first, _, last = each.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return topic_id(int(number)), frozenset(found)


def spec(
    members: str | Subscriptions,
    partitions: tuple[int, ...],
    *,
    before: str = "",
    instances: Mapping[str, str] | None = None,
) -> GroupSpec:
    """Return a group; `members` in a string all have all topics, which are numbered from 1."""
    counts = {topic_id(each): count for each, count in enumerate(partitions, 1)}
    subscriptions = (
        {name: tuple(range(1, len(partitions) + 1)) for name in members}
        if isinstance(members, str)
        else members
    )
    assigned = parsed(before)
    return GroupSpec(
        members={
            name: MemberSpec(
                frozenset(map(topic_id, topics)),
                assigned.get(name, {}),
                (instances or {}).get(name),
            )
            for name, topics in subscriptions.items()
        },
        partitions=counts,
        is_homogeneous=isinstance(members, str),
    )


def assignment(assignor: PartitionAssignor, group: GroupSpec) -> GroupAssignment:
    """Return the result of an assignor, also for members without partitions."""
    result = assignor.assign(group)
    return {name: result.get(name, {}) for name in group.members}
