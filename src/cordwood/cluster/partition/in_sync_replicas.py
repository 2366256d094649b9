"""In-sync replicas of a partition as its leader knows them (Kafka: `PartitionState`, KIP-497).

    CommittedIsr        the replicas that the controller has stored
    PendingExpandIsr    a follower has caught up; the request to add it is on its way
    PendingShrinkIsr    followers have fallen behind; the request to remove them is on its way

At most one change is on its way. The outcome of a request is unknown until its answer. So the
leader counts with the larger set, the maximal ISR: it has a follower that is being added, and still
has those that are being removed. A record that the maximal ISR has is safe in both outcomes.
"""

from typing import NamedTuple, TypeAlias


class CommittedIsr(NamedTuple):
    """The in-sync replicas, and the partition epoch of the state that has them."""

    isr: tuple[int, ...]
    partition_epoch: int

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        return self.isr


class PendingExpandIsr(NamedTuple):
    """The proposal to add a follower."""

    new_replica: int
    last_committed: CommittedIsr

    @property
    def isr(self) -> tuple[int, ...]:
        return self.last_committed.isr

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        return self.proposed_isr

    @property
    def proposed_isr(self) -> tuple[int, ...]:
        return (*self.isr, self.new_replica)


class PendingShrinkIsr(NamedTuple):
    """The proposal to remove followers."""

    out_of_sync: frozenset[int]
    last_committed: CommittedIsr

    @property
    def isr(self) -> tuple[int, ...]:
        return self.last_committed.isr

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        return self.isr

    @property
    def proposed_isr(self) -> tuple[int, ...]:
        return tuple(each for each in self.isr if each not in self.out_of_sync)


PendingIsr: TypeAlias = PendingExpandIsr | PendingShrinkIsr
IsrState: TypeAlias = CommittedIsr | PendingIsr


class IsrProposal(NamedTuple):
    """A change for the controller (Kafka: `AlterPartitionItem`, `sentLeaderAndIsr`).

    The controller stores it if both epochs are those of its own state, and if the brokers still
    have the epochs of their last fetches, where these are known. The leader recovery state is
    always RECOVERED: a leader has recovered as soon as it leads.
    """

    leader_epoch: int
    partition_epoch: int
    new_isr: tuple[int, ...]
    #: Of each broker in `new_isr`; -1 is not checked.
    broker_epochs: tuple[int, ...]


class AlteredIsr(NamedTuple):
    """The state that the controller has after a successful request."""

    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
