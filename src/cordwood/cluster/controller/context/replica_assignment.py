"""Assignment of a partition to brokers, and its reassignment in progress (Kafka: same class).

    replicas    all of them: the target first, then those that are removed
    adding      not in the origin      origin = replicas without adding
    removing    not in the target      target = replicas without removing

A reassignment from 1,2,3 to 4,2,5 has the replicas 4,2,5,1,3, adding 4,5 and removing 1,3. Its
origin is then 2,1,3: a cancelled reassignment restores the set, and not the order.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class ReplicaAssignment(NamedTuple):
    """The replicas of a partition; without adding and removing ones it is not being reassigned."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def is_being_reassigned(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def origin(self) -> tuple[int, ...]:
        """The replicas before the reassignment."""
        return _without(self.replicas, self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas after the reassignment."""
        return _without(self.replicas, self.removing)

    def reassigned_to(self, target: Sequence[int]) -> "ReplicaAssignment":
        """Return the assignment in which a reassignment to the target begins."""
        origin = self.origin
        replicas = tuple(dict.fromkeys((*target, *origin)))
        return ReplicaAssignment(replicas, _without(replicas, origin), _without(replicas, target))

    def completed(self) -> "ReplicaAssignment":
        """Return the assignment after the reassignment."""
        return ReplicaAssignment(self.target)

    def without(self, replica: int) -> "ReplicaAssignment":
        """Return the assignment without a replica."""
        return ReplicaAssignment(*(_without(each, (replica,)) for each in self))


#: The assignment of an unknown partition.
UNASSIGNED = ReplicaAssignment(())


def _without(replicas: Iterable[int], removed: Sequence[int]) -> tuple[int, ...]:
    return tuple(each for each in replicas if each not in removed)
