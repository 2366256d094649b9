"""Assignor `range`: consecutive partitions of each topic, in member order (Kafka: `RangeAssignor`).

Members with an instance id come first, by instance id, then the others by member id. Members with
the same topics thus receive the same partition numbers of each topic. Earlier assignments play no
part.
"""

from collections.abc import Iterable

from cordwood.coordination.groups.consumer.assignors.group_spec import (
    GroupAssignment,
    GroupSpec,
    in_topic_order,
)
from cordwood.core.uuids import Uuid


class RangeAssignor:
    """The assignor `range`."""

    @property
    def name(self) -> str:
        return "range"

    def assign(self, spec: GroupSpec) -> GroupAssignment:
        subscribers = dict[Uuid, list[str]]()
        for member_id in _member_order(spec):
            for topic_id in spec.members[member_id].topic_ids:
                subscribers.setdefault(topic_id, []).append(member_id)
        assigned: dict[str, dict[Uuid, frozenset[int]]] = {each: {} for each in spec.members}
        for topic_id in in_topic_order(subscribers):
            owners = subscribers[topic_id]
            ranges = _ranges(spec.partition_count(topic_id), len(owners))
            for member_id, part in zip(owners, ranges, strict=True):
                if part:
                    assigned[member_id][topic_id] = frozenset(part)
        return assigned


def _member_order(spec: GroupSpec) -> list[str]:
    return sorted(spec.members, key=lambda each: _member_key(each, spec.members[each].instance_id))


def _member_key(member_id: str, instance_id: str | None) -> tuple[bool, str]:
    return instance_id is None, member_id if instance_id is None else instance_id


def _ranges(partitions: int, members: int) -> Iterable[range]:
    """Yield the range of each member; the first ones take the remainder."""
    quota, extra = divmod(partitions, members)
    start = 0
    for number in range(members):
        end = start + quota + (number < extra)
        yield range(start, end)
        start = end
