"""Ownership of partitions: no two members own a partition in one generation.

    classic members     each SyncGroup response assigns partitions in a generation; another member
                        with the same partition in that generation is a violation. The successor
                        of a static member may have its partitions.
    consumer members    a client that is a member by the broker's state, in the epoch that it knows,
                        owns partitions; no other such client owns one of them

A client that the group has removed can still own partitions by its own state: its commits are
rejected.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Final, NamedTuple

from cordwood.coordination.group_shard import GroupShard
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.core.types import TopicPartition
from tests.simulation.world import World

OWNERSHIP: Final = "no two members own a partition in one generation"


class Owner(NamedTuple):
    """A client, as it sees its membership."""

    client: str
    member_id: str
    epoch: int
    owned: frozenset[TopicPartition]


class Ownership:
    """Owners of the partitions by generation.

    With `may_restart` a consumer group without members becomes a classic one, whose generations
    begin again at 1, as in Kafka. An owner that is no longer a member does not count then.
    """

    def __init__(self, world: World, *, may_restart: bool) -> None:
        self._world = world
        self._may_restart = may_restart
        #: Returns the ids of the group's present members.
        self.members: Callable[[], Collection[str]] = tuple
        self._owners = dict[tuple[int, TopicPartition], str]()

    def assign(self, generation: int, lineage: str, partitions: Iterable[TopicPartition]) -> None:
        """Take the assignment that a member got."""
        for partition in partitions:
            owner = self._owners.get((generation, partition))
            self._owners[generation, partition] = lineage
            is_gone = self._may_restart and owner not in self.members()
            if owner not in {None, lineage} and not is_gone:
                self._world.violate(
                    OWNERSHIP, f"{owner} and {lineage} own {partition} in {generation}"
                )

    def check(self, shard: GroupShard, owners: Iterable[Owner], group_id: str) -> None:
        """Compare what members of a consumer group own."""
        group = shard.groups.by_id.get(group_id)
        if not isinstance(group, ConsumerGroup):
            return
        found = dict[TopicPartition, str]()
        for each in owners:
            member = group.members.get(each.member_id)
            if member is None or each.epoch not in {
                member.member_epoch,
                member.previous_member_epoch,
            }:
                continue
            for partition in sorted(each.owned):
                other = found.setdefault(partition, each.client)
                if other != each.client:
                    self._world.violate(
                        OWNERSHIP, f"{other} and {each.client} own {partition} at a time"
                    )


def member_ids(shard: GroupShard, group_id: str) -> list[str]:
    """Return the member ids and the instance ids of a group."""
    group = shard.groups.by_id.get(group_id)
    if not isinstance(group, (ClassicGroup, ConsumerGroup)):
        return []
    members = [*group.members.values()]
    return [each.instance_id or each.member_id for each in members]
