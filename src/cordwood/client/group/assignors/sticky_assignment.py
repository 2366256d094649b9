"""Assignor `cooperative-sticky`: balanced, with few moves (Java: `CooperativeStickyAssignor`).

    owned       claims of the newest generation count; of two equal ones both are dropped
    kept        a member keeps up to its quota of what it owns, in the order of its claim
    given       free partitions go in turn to the members below their quota
    moved       with unequal subscriptions, while a move makes two loads more equal
    withheld    a partition that changes its owner is given in the next rebalance, once its former
                owner has revoked it

With equal subscriptions the quotas are those of Java. With unequal ones the balance is that of
Java, the choice among equal moves is not.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from cordwood.client.group.assignors.assignor import (
    Assignor,
    GroupAssignment,
    SubscribedMember,
    topics_of,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition


def assign_sticky(
    members: Sequence[SubscribedMember], counts: Mapping[str, int]
) -> GroupAssignment:
    """Return the balanced partitions of each member, regardless of present owners."""
    partitions = {
        TopicPartition(TopicName(topic), PartitionId(number))
        for topic in topics_of(members)
        for number in range(counts.get(topic, 0))
    }
    claims = _valid_claims(members, partitions)
    if len({member.topics for member in members}) <= 1:
        return _assign_equally(claims, partitions)
    return _assign_by_load({each.member_id: each.topics for each in members}, claims, partitions)


def assign_cooperatively(
    members: Sequence[SubscribedMember], counts: Mapping[str, int]
) -> GroupAssignment:
    """Return the sticky assignment without the partitions that another member still owns."""
    assigned = assign_sticky(members, counts)
    owners = {each: member.member_id for member in members for each in member.owned}
    return {
        member_id: [each for each in mine if owners.get(each, member_id) == member_id]
        for member_id, mine in assigned.items()
    }


def _valid_claims(
    members: Sequence[SubscribedMember], partitions: set[TopicPartition]
) -> GroupAssignment:
    """Return what each member keeps the claim to, in the order of the members' ids."""
    newest: dict[TopicPartition, int] = {}
    claimed: Counter[tuple[TopicPartition, int]] = Counter()
    for member in members:
        for each in member.owned:
            newest[each] = max(member.generation, newest.get(each, member.generation))
            claimed[each, member.generation] += 1
    return {
        member.member_id: [
            each
            for each in member.owned
            if each in partitions
            and each.topic in member.topics
            and newest[each] == member.generation
            and claimed[each, member.generation] == 1
        ]
        for member in sorted(members, key=lambda each: each.member_id)
    }


def _assign_equally(claims: GroupAssignment, partitions: set[TopicPartition]) -> GroupAssignment:
    """Assign partitions among members with equal subscriptions (Java: `constrainedAssign`)."""
    quota, above = divmod(len(partitions), len(claims))
    assigned: GroupAssignment = {}
    for member_id, owned in claims.items():
        has_one_more = above > 0 and len(owned) > quota
        above -= has_one_more
        assigned[member_id] = owned[: quota + has_one_more]
    kept = {each for mine in assigned.values() for each in mine}
    free = deque(sorted(partitions - kept))
    for limit in (quota, quota + 1):
        takers = deque(mine for mine in assigned.values() if len(mine) < limit)
        while free and takers:
            mine = takers.popleft()
            mine.append(free.popleft())
            if len(mine) < limit:
                takers.append(mine)
    return assigned


def _assign_by_load(
    topics: Mapping[str, frozenset[str]], claims: GroupAssignment, partitions: set[TopicPartition]
) -> GroupAssignment:
    """Assign partitions among members with unequal subscriptions (Java: `generalAssign`)."""
    assigned = {member_id: list(owned) for member_id, owned in claims.items()}
    takers = {
        topic: [member_id for member_id in assigned if topic in topics[member_id]]
        for topic in {each.topic for each in partitions}
    }
    kept = {each for mine in assigned.values() for each in mine}
    # Partitions with few possible owners first, so that the others can even out the loads.
    for each in sorted(partitions - kept, key=lambda free: (len(takers[free.topic]), free)):
        assigned[_least_loaded(assigned, takers[each.topic])].append(each)
    while any([_moved(assigned, takers, member_id) for member_id in assigned]):  # noqa: C419 - each is tried
        pass
    return assigned


def _moved(assigned: GroupAssignment, takers: Mapping[TopicName, list[str]], owner: str) -> bool:
    """Move one partition to a member with a load smaller by two or more, if there is one."""
    mine = assigned[owner]
    for each in reversed(mine):
        taker = _least_loaded(assigned, takers[each.topic])
        if len(assigned[taker]) + 1 < len(mine):
            mine.remove(each)
            assigned[taker].append(each)
            return True
    return False


def _least_loaded(assigned: GroupAssignment, member_ids: Iterable[str]) -> str:
    return min(member_ids, key=lambda each: (len(assigned[each]), each))


COOPERATIVE_STICKY: Final = Assignor(
    "cooperative-sticky", assign_cooperatively, is_cooperative=True
)
