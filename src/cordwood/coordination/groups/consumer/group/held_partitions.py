"""Member epochs of held partitions (Kafka: `ConsumerGroup.currentPartitionEpoch`).

A partition is held while it is assigned to a member, or is pending revocation. The records of two
members may overlap while a compacted log is loaded: the higher epoch stays.
"""

from cordwood.coordination.groups.consumer.group.consumer_group_member import ConsumerGroupMember
from cordwood.core.uuids import Uuid


class HeldPartitions:
    """The epochs by topic id and partition."""

    def __init__(self) -> None:
        self._epochs = dict[tuple[Uuid, int], int]()

    def is_held(self, topic_id: Uuid, partition: int) -> bool:
        """Return whether a member holds a partition."""
        return (topic_id, partition) in self._epochs

    def add(self, member: ConsumerGroupMember) -> None:
        """Add a member's partitions in its epoch."""
        for key in _partitions(member):
            self._epochs[key] = max(member.member_epoch, self._epochs.get(key, member.member_epoch))

    def discard(self, member: ConsumerGroupMember) -> None:
        """Remove a member's partitions that no other member holds in a higher epoch."""
        for key in _partitions(member):
            if self._epochs.get(key) == member.member_epoch:
                del self._epochs[key]


def _partitions(member: ConsumerGroupMember) -> list[tuple[Uuid, int]]:
    return [
        (topic_id, partition)
        for partitions in (member.assigned, member.pending_revocation)
        for topic_id, epochs in partitions.items()
        for partition in epochs
    ]
