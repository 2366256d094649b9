"""Uniform assignment where members have different topics.

Kafka: `UniformHeterogeneousAssignmentBuilder`.

Members keep the partitions of subscribed topics. Free partitions go to the subscriber with the
lowest load, beginning with topics that have many partitions for few subscribers. Then partitions
move from the most loaded to the least loaded subscriber of each topic, in at most 16 rounds.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from cordwood.coordination.groups.consumer.assignors.group_spec import (
    GroupAssignment,
    GroupSpec,
    topic_order,
)
from cordwood.coordination.groups.consumer.assignors.member_loads import MemberLoads
from cordwood.core.uuids import Uuid

_MAX_ROUNDS: Final = 16
_FREE: Final = -1


class HeterogeneousAssignment:
    """One computation; members are indexes into the sorted member ids."""

    def __init__(self, spec: GroupSpec) -> None:
        self._spec = spec
        self._member_ids = spec.member_ids
        self._subscribers = dict[Uuid, list[int]]()
        for index, member_id in enumerate(self._member_ids):
            for topic_id in spec.members[member_id].topic_ids:
                self._subscribers.setdefault(topic_id, []).append(index)
        self._sizes = [0] * len(self._member_ids)
        self._owners = {
            topic_id: [_FREE] * spec.partition_count(topic_id) for topic_id in self._subscribers
        }

    def assign(self) -> GroupAssignment:
        """Return the target partitions of all members."""
        self._keep_assigned()
        self._assign_free()
        self._balance()
        target: dict[str, dict[Uuid, set[int]]] = {each: {} for each in self._member_ids}
        for topic_id, owners in self._owners.items():
            for partition, owner in enumerate(owners):
                target[self._member_ids[owner]].setdefault(topic_id, set()).add(partition)
        return {
            member_id: {topic_id: frozenset(each) for topic_id, each in partitions.items()}
            for member_id, partitions in target.items()
        }

    def _keep_assigned(self) -> None:
        for index, member_id in enumerate(self._member_ids):
            member = self._spec.members[member_id]
            for topic_id in member.topic_ids & member.assigned.keys():
                # A classic member has partitions by name: its topic may be another one now.
                existing = range(len(self._owners[topic_id]))
                for partition in filter(existing.__contains__, member.assigned[topic_id]):
                    self._give(topic_id, partition, index)

    def _assign_free(self) -> None:
        for topic_id in self._sorted(self._subscribers):
            free = [each for each, owner in enumerate(self._owners[topic_id]) if owner == _FREE]
            loads = MemberLoads(self._sizes, self._subscribers[topic_id])
            for partition in free:
                self._give(topic_id, partition, loads.next_least())

    def _balance(self) -> None:
        """Balance topic after topic, until a whole round has moved nothing."""
        topic_ids = self._sorted(each for each, of in self._subscribers.items() if len(of) > 1)
        last_moved: Uuid | None = None
        for _ in range(_MAX_ROUNDS):
            for topic_id in topic_ids:
                if topic_id == last_moved:
                    return
                has_moved = self._balance_topic(topic_id)
                if has_moved or last_moved is None:
                    last_moved = topic_id

    def _balance_topic(self, topic_id: Uuid) -> bool:
        """Move partitions of a topic to its least loaded subscribers."""
        loads = MemberLoads(self._sizes, self._subscribers[topic_id])
        if loads.imbalance <= 1:
            return False
        owned = dict[int, list[int]]()
        for partition, owner in enumerate(self._owners[topic_id]):
            owned.setdefault(owner, []).append(partition)
        has_moved = False
        while not loads.is_balanced():
            most = loads.next_most()
            while most is not None and not owned.get(most):
                loads.exclude_most()
                most = loads.next_most()
            if most is None:
                break
            partition = owned[most].pop()
            least = loads.next_least()
            if loads.is_balanced():
                break
            self._give(topic_id, partition, least)
            has_moved = True
        return has_moved

    def _give(self, topic_id: Uuid, partition: int, index: int) -> None:
        owners = self._owners[topic_id]
        if owners[partition] != _FREE:
            self._sizes[owners[partition]] -= 1
        owners[partition] = index
        self._sizes[index] += 1

    def _sorted(self, topic_ids: Iterable[Uuid]) -> list[Uuid]:
        return sorted(topic_ids, key=self._topic_key)

    def _topic_key(self, topic_id: Uuid) -> tuple[Fraction, int, tuple[int, int]]:
        subscribers = len(self._subscribers[topic_id])
        share = Fraction(self._spec.partition_count(topic_id), subscribers)
        return -share, subscribers, topic_order(topic_id)
