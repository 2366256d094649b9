"""Uniform assignment where all members have the same topics.

Kafka: `UniformHomogeneousAssignmentBuilder`.

Every member keeps its partitions up to its quota, which is the same for all but for one partition.
Partitions that are free or above a quota go to the members below theirs, in order.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from cordwood.coordination.groups.consumer.assignors.group_spec import (
    GroupAssignment,
    GroupSpec,
    PartitionAssignorError,
    TopicPartitionSets,
    hash_order,
)
from cordwood.core.uuids import Uuid

_NONE: Final = frozenset[int]()


class _KeptPartitions(NamedTuple):
    """Partitions that a member keeps, those above its quota, and what is left of the quota."""

    partitions: dict[Uuid, frozenset[int]]
    revoked: list[tuple[Uuid, int]]
    quota: int


def assign_homogeneous(spec: GroupSpec) -> GroupAssignment:
    """Return the target partitions of members that all have the same topics."""
    member_ids = spec.member_ids
    topic_ids = hash_order(spec.members[member_ids[0]].topic_ids)
    if not topic_ids:
        return {}
    counts = {each: spec.partition_count(each) for each in topic_ids}
    places = {each: place for place, each in enumerate(topic_ids)}
    total = sum(counts.values())
    quota, extra = divmod(total, len(member_ids))
    unassigned = _unassigned(spec, topic_ids)
    target = dict[str, dict[Uuid, frozenset[int]]]()
    unfilled = list[tuple[str, int]]()
    for number, member_id in enumerate(member_ids):
        has_extra = extra > 0
        assigned = spec.members[member_id].assigned
        owned = sorted((each for each in assigned if each in counts), key=places.__getitem__)
        partitions = {each: assigned[each] for each in owned}
        kept = _keep(partitions, counts, quota=quota + has_extra)
        missing = kept.quota
        if missing and has_extra and len(member_ids) - number > extra:
            # Later members can take the extra partition: one of them may hold it already.
            missing -= 1
            has_extra = False
        extra -= has_extra
        unassigned += kept.revoked
        target[member_id] = kept.partitions
        if missing:
            unfilled.append((member_id, missing))
    _fill(target, unfilled, unassigned=unassigned)
    return target


def _unassigned(spec: GroupSpec, topic_ids: Iterable[Uuid]) -> list[tuple[Uuid, int]]:
    """Return the partitions that no member has."""
    assigned: dict[Uuid, set[int]] = {each: set() for each in topic_ids}
    for member in spec.members.values():
        for topic_id, partitions in member.assigned.items():
            if topic_id in assigned:
                assigned[topic_id].update(partitions)
    return [
        (topic_id, partition)
        for topic_id in topic_ids
        for partition in range(spec.partition_count(topic_id))
        if partition not in assigned[topic_id]
    ]


def _keep(
    assigned: TopicPartitionSets, counts: Mapping[Uuid, int], *, quota: int
) -> _KeptPartitions:
    """Divide a member's partitions by its quota.

    Partitions that do not exist are dropped: a classic member has partitions by name, and its topic
    may be another one now.
    """
    kept, revoked = dict[Uuid, frozenset[int]](), list[tuple[Uuid, int]]()
    for topic_id in assigned:
        count, partitions = counts[topic_id], assigned[topic_id]
        if partitions and max(partitions) >= count:
            partitions = frozenset(each for each in partitions if each < count)
        if len(partitions) > quota:
            ordered = sorted(partitions)
            revoked += [(topic_id, each) for each in ordered[quota:]]
            partitions = frozenset(ordered[:quota])
        if partitions:
            kept[topic_id] = partitions
        quota -= len(partitions)
    return _KeptPartitions(kept, revoked, quota)


def _fill(
    target: dict[str, dict[Uuid, frozenset[int]]],
    unfilled: list[tuple[str, int]],
    *,
    unassigned: list[tuple[Uuid, int]],
) -> None:
    start = 0
    for member_id, missing in unfilled:
        added = dict[Uuid, list[int]]()
        for topic_id, partition in unassigned[start : start + missing]:
            added.setdefault(topic_id, []).append(partition)
        partitions = target[member_id]
        for topic_id, numbers in added.items():
            partitions[topic_id] = partitions.get(topic_id, _NONE).union(numbers)
        start += missing
    if start < len(unassigned):
        raise PartitionAssignorError("Partitions were left unassigned")
