"""Leadership of a partition (Kafka: `LeaderAndIsr`, `LeaderIsrAndControllerEpoch`).

    leader epoch       incremented by each decision of a controller about the partition
    partition epoch    version of the stored leadership, incremented by each write; a write is
                       conditional on it
    recovering         the leader was not in sync when it was elected, and has not recovered yet

The in-sync set is never empty: the last member stays in it when it dies, and the partition has then
no leader. So the replica that has all committed records remains known.
"""

from typing import Final, NamedTuple

NO_LEADER: Final = -1
NO_LEADER_EPOCH: Final = -1
#: Leader and leader epoch of a partition whose topic is being deleted.
LEADER_DURING_DELETE: Final = -2
EPOCH_DURING_DELETE: Final = -2


class Leadership(NamedTuple):
    """The leader and the in-sync replicas of a partition, by the controller of `controller_epoch`.

    A leadership that is to be written has the partition epoch that it replaces.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    is_recovering: bool = False
    partition_epoch: int = 0
    controller_epoch: int = 0

    @classmethod
    def first(cls, isr: tuple[int, ...], *, controller_epoch: int) -> "Leadership":
        """Return the leadership of a new partition, led by the first of its replicas."""
        return cls(isr[0], 0, isr, controller_epoch=controller_epoch)

    def next_epoch(
        self, *, leader: int, isr: tuple[int, ...], is_recovering: bool | None = None
    ) -> "Leadership":
        """Return the leadership in the next leader epoch; recovering as before unless given."""
        recovering = self.is_recovering if is_recovering is None else is_recovering
        return Leadership(
            leader,
            self.leader_epoch + 1,
            isr,
            recovering,
            self.partition_epoch,
            self.controller_epoch,
        )

    def without(self, replica: int) -> "Leadership":
        """Return the leadership after the loss of a replica; itself if that changes nothing."""
        if replica not in self.isr:
            return self
        leader = NO_LEADER if replica == self.leader else self.leader
        isr = tuple(each for each in self.isr if each != replica) or self.isr
        if leader == self.leader and isr == self.isr:
            return self
        return self.next_epoch(leader=leader, isr=isr)
