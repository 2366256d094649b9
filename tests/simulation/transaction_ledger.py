"""Ledger of the transactions: what clients sent, asked for and were answered, and what is seen.

    open ──► commit asked ──► committed       the answers, as the clients got them
      └────► abort asked  ──► aborted

    seen by a read_committed consumer    commit asked, committed
    never seen                           open, abort asked, aborted

A client that dies, or is fenced, leaves its transaction as it is. In the end a transaction whose
commit was asked is seen as a whole or not at all, and a committed one as a whole.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from cordwood.client.producer.partition_queue import ProducerIdentity
from cordwood.core.types import TopicPartition
from tests.simulation.simulated_log import SimulatedLog
from tests.simulation.world import World

ATOMICITY: Final = "a transaction is seen all or not at all"
STABLE: Final = "a stable record stays as it was read"
KEPT: Final = "nothing acknowledged is lost"
FENCED: Final = "an older producer is fenced"


class Outcome(Enum):
    """The end of a transaction, by the answers that its client got."""

    OPEN = "open"
    COMMIT_ASKED = "commit asked"
    COMMITTED = "committed"
    ABORT_ASKED = "abort asked"
    ABORTED = "aborted"


_MAY_BE_SEEN: Final = {Outcome.COMMIT_ASKED, Outcome.COMMITTED}


@dataclass(slots=True, eq=False)
class Transaction:
    """One transaction of one client."""

    number: int
    client: str
    outcome: Outcome = Outcome.OPEN
    texts: dict[TopicPartition, list[str]] = field(default_factory=dict)

    def text(self, partition: TopicPartition, content: str) -> str:
        """Return the text of a new record, which names its transaction."""
        made = f"{self.number}:{content}"
        self.texts.setdefault(partition, []).append(made)
        return made


class TransactionLedger:
    """The transactions of all clients, and a reader of each output partition."""

    def __init__(self, world: World, outputs: dict[TopicPartition, SimulatedLog]) -> None:
        self.transactions = list[Transaction]()
        #: The transactions that are seen, as `settle` found them.
        self.seen = set[Transaction]()
        self._world = world
        self._outputs = outputs
        self._read: dict[TopicPartition, list[tuple[int, str]]] = {name: [] for name in outputs}
        #: The highest identity of each id that the broker has given, or a client has got.
        self._given = dict[str, ProducerIdentity]()
        self._latest = dict[str, tuple[ProducerIdentity, str]]()

    # -- clients

    def begin(self, client: str) -> Transaction:
        """Return a new transaction."""
        made = Transaction(len(self.transactions), client)
        self.transactions.append(made)
        return made

    def give(self, transactional_id: str, identity: ProducerIdentity, *, is_new: bool) -> None:
        """Take an identity as the broker gives it; a new producer's is above all earlier ones."""
        latest = self._given.get(transactional_id)
        if latest is not None and identity <= latest and is_new:
            self._world.violate(FENCED, f"{transactional_id} gets {identity} after {latest}")
        self._given[transactional_id] = max(identity, latest or identity)

    def initialize(self, transactional_id: str, client: str, identity: ProducerIdentity) -> None:
        """Note the identity that a client has got; answers may arrive in another order."""
        latest = self._latest.get(transactional_id)
        if latest is None or latest[0] < identity:
            self._latest[transactional_id] = identity, client

    def is_latest(self, transactional_id: str, client: str) -> bool:
        """Return whether no later producer has got the id."""
        return self._latest[transactional_id][1] == client

    def ended(self, transaction: Transaction, transactional_id: str, *, was_latest: bool) -> None:
        """Take the answer of an end; `was_latest` as the request was sent."""
        if not was_latest:
            self._world.violate(
                FENCED, f"{transaction.client} ends {transactional_id}, which has another producer"
            )

    # -- readers

    def check(self) -> None:
        """Read on in each output partition."""
        for name, log in self._outputs.items():
            read = self._read[name]
            start = read[-1][0] + 1 if read else 0
            for offset, _, text in log.committed_values(start):
                self._ensure_may_be_seen(name, offset, text)
                read.append((offset, text))

    def settle(self) -> None:
        """Check the end of the simulation, when every transaction is decided."""
        self.check()
        for name, log in self._outputs.items():
            now = [(offset, text) for offset, _, text in log.committed_values()]
            if now != self._read[name]:
                self._world.violate(STABLE, f"{name}: {self._read[name]}, later {now}")
        count = Counter((name, text) for name, read in self._read.items() for _, text in read)
        for each in self.transactions:
            counts = {count[name, text] for name, texts in each.texts.items() for text in texts}
            self._settle_one(each, counts)

    def _settle_one(self, transaction: Transaction, counts: set[int]) -> None:
        subject = f"transaction {transaction.number} of {transaction.client}"
        if counts and max(counts) > 1:
            self._world.violate(ATOMICITY, f"{subject} is seen twice")
        elif transaction.outcome is Outcome.COMMITTED and 0 in counts:
            self._world.violate(KEPT, f"{subject} was committed and is not seen as a whole")
        elif transaction.outcome in _MAY_BE_SEEN and len(counts) > 1:
            self._world.violate(ATOMICITY, f"{subject} is seen in parts")
        if 1 in counts or (not counts and transaction.outcome is Outcome.COMMITTED):
            self.seen.add(transaction)

    def _ensure_may_be_seen(self, name: TopicPartition, offset: int, text: str) -> None:
        transaction = self.transactions[int(text.split(":", 1)[0])]
        if transaction.outcome not in _MAY_BE_SEEN:
            self._world.violate(
                ATOMICITY,
                f"{name} offset {offset}: a record of transaction {transaction.number} of "
                f"{transaction.client} is seen, which is {transaction.outcome.value}",
            )

    def contents(self) -> list[str]:
        """Return the contents of all records that are seen, without their transactions."""
        return [text.split(":", 1)[1] for read in self._read.values() for _, text in read]
