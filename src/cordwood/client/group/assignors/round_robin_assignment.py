"""Assignor `roundrobin`: all partitions in turn over the members (Java: `RoundRobinAssignor`)."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Final

from cordwood.client.group.assignors.assignor import (
    Assignor,
    GroupAssignment,
    SubscribedMember,
    topics_of,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition


def assign_round_robin(
    members: Sequence[SubscribedMember], counts: Mapping[str, int]
) -> GroupAssignment:
    """Return the partitions of each member; a member that lacks the topic is skipped."""
    assigned: GroupAssignment = {member.member_id: [] for member in members}
    turns = cycle(sorted(members, key=lambda each: each.order))
    for topic in sorted(topics_of(members)):
        for number in range(counts.get(topic, 0)):
            taker = next(each for each in turns if topic in each.topics)
            partition = TopicPartition(TopicName(topic), PartitionId(number))
            assigned[taker.member_id].append(partition)
    return assigned


ROUND_ROBIN: Final = Assignor("roundrobin", assign_round_robin)
