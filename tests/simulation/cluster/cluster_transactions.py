"""Transactions of a simulated cluster, as their producers, readers and a group see them.

outcome     open, committed or aborted, once the producer has the answer; else unknown
read        the records that a read_committed consumer has received
group       the records that the members of a group have received
committed   the offsets of a group that a client has an answer for, or has fetched
"""

from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from tests.simulation.cluster.cluster_world import ClusterWorld

ATOMIC: Final = "a transaction is read whole or not at all"
IN_ORDER: Final = "a consumer reads each record of a partition once, in order"
KEPT: Final = "a committed offset never goes back"
COMPLETE: Final = "a group reads all committed records"

#: The groups of the clients: one for the offsets of transactions, one with members.
OFFSETS_GROUP: Final = "offsets"
READERS_GROUP: Final = "readers"


class Outcome(Enum):
    """The state of a transaction, as its producer sees it."""

    OPEN = auto()
    #: A commit is under way, or its producer was fenced meanwhile.
    UNKNOWN = auto()
    COMMITTED = auto()
    ABORTED = auto()


@dataclass
class SentTransaction:
    """One transaction: its records by partition, and the offset that it commits."""

    name: str
    outcome: Outcome = Outcome.OPEN
    records: list[tuple[int, bytes]] = field(default_factory=list)
    offset: tuple[int, int] | None = None


class ClusterTransactions:
    """All transactions of one simulation, and what was read of them."""

    def __init__(self, world: ClusterWorld) -> None:
        self._world = world
        self._transactions = dict[bytes, SentTransaction]()
        self._begun = list[SentTransaction]()
        self._read = defaultdict[int, dict[int, bytes]](dict)
        self._group = set[tuple[int, bytes]]()
        self.committed = defaultdict[tuple[str, int], int](lambda: -1)

    # -- producers

    def begin(self, producer: str) -> SentTransaction:
        """Return the next transaction of a producer."""
        begun = SentTransaction(f"{producer}:{len(self._begun)}")
        self._begun.append(begun)
        return begun

    def send(self, transaction: SentTransaction, partition: int) -> bytes:
        """Return the value of its next record."""
        value = f"{transaction.name}:{len(transaction.records)}".encode()
        transaction.records.append((partition, value))
        self._transactions[value] = transaction
        return value

    # -- readers

    def read(self, partition: int, offset: int, value: bytes) -> None:
        """Store a record that a read_committed consumer has received."""
        records = self._read[partition]
        if records and offset <= max(records):
            self._world.violate(IN_ORDER, f"{value!r} at {offset} of {partition}")
        records[offset] = value
        transaction = self._transactions.get(value)
        if transaction is not None and transaction.outcome in {Outcome.OPEN, Outcome.ABORTED}:
            self._world.violate(ATOMIC, f"{value!r} of {transaction} is read")

    def read_in_group(self, partition: int, value: bytes) -> None:
        """Store a record that a member of the group has received."""
        self._group.add((partition, value))

    def commit(self, group: str, partition: int, offset: int) -> None:
        """Store a committed offset that a client has an answer for, or has fetched."""
        self.committed[group, partition] = max(offset, self.committed[group, partition])

    def ensure_kept(self, group: str, partition: int, offset: int, *, before: int) -> None:
        """Compare a fetched offset with one that was committed before the fetch."""
        if offset < before:
            text = f"{group!r} has {offset} in partition {partition}, and had {before}"
            self._world.violate(KEPT, text)

    # -- the end

    def unread(self) -> str:
        """Return a committed record that was not read yet, as a reason; empty if there is none."""
        committed = (each for each in self._begun if each.outcome is Outcome.COMMITTED)
        for partition, value in (pair for each in committed for pair in each.records):
            if value not in self._read[partition].values():
                return f"{value!r} is not read"
            if (partition, value) not in self._group:
                return f"{value!r} is not read by the group"
        return ""

    def settle(self) -> None:
        """Check all transactions, and the offsets that they have committed."""
        read = {partition: {*records.values()} for partition, records in self._read.items()}
        last = dict[int, int]()
        for transaction in self._begun:
            found = {value in read.get(at, ()) for at, value in transaction.records}
            wanted = {
                Outcome.COMMITTED: ({True},),
                Outcome.UNKNOWN: ({True}, {False}),
            }.get(transaction.outcome, ({False},))
            if transaction.records and found not in wanted:
                self._world.violate(ATOMIC, f"{transaction}: {found}")
            if transaction.offset is not None and found == {True}:
                last[transaction.offset[0]] = transaction.offset[1]
        for partition, offset in last.items():
            present = self.committed[OFFSETS_GROUP, partition]
            if present != offset:
                text = f"{OFFSETS_GROUP!r} has {present} in {partition}, instead of {offset}"
                self._world.violate(KEPT, text)
