"""Assignor `range`: consecutive partitions of each topic (Java: `RangeAssignor`).

The first members of the order get one partition more if the partitions do not divide evenly. Racks
are not used.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from cordwood.client.group.assignors.assignor import (
    Assignor,
    GroupAssignment,
    SubscribedMember,
    topics_of,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition


def assign_ranges(
    members: Sequence[SubscribedMember], counts: Mapping[str, int]
) -> GroupAssignment:
    """Return the partitions of each member."""
    assigned: GroupAssignment = {member.member_id: [] for member in members}
    for topic in sorted(topics_of(members)):
        takers = sorted((each for each in members if topic in each.topics), key=_order)
        quota, extra = divmod(counts.get(topic, 0), len(takers))
        start = 0
        for number, member in enumerate(takers):
            end = start + quota + (number < extra)
            assigned[member.member_id] += [
                TopicPartition(TopicName(topic), PartitionId(each)) for each in range(start, end)
            ]
            start = end
    return assigned


def _order(member: SubscribedMember) -> tuple[bool, str]:
    return member.order


RANGE: Final = Assignor("range", assign_ranges)
