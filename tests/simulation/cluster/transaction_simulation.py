"""Simulation of a cluster whose clients use transactions and groups.

Coordinators move with the leaders of their partitions. After the faults no transaction is open, the
last stable offset of each replica is the end of its log, and everything that was committed is read.

The brokers of a cluster have transactions of version 0. A late request looks like one of the next
transaction there, so no request of a transaction arrives after its connection has broken.
"""

from random import Random
from typing import Final

from cordwood.broker.services import BrokerServices
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_state import TransactionState
from tests.simulation.cluster.cluster_script import IDEMPOTENT, ClusterSetup
from tests.simulation.cluster.cluster_simulation import (
    CONVERGED,
    SETTLE_MS,
    ClusterRun,
    ClusterSimulation,
    run_simulation,
)
from tests.simulation.cluster.cluster_transactions import ClusterTransactions
from tests.simulation.cluster.transaction_clients import (
    CommittedReader,
    GroupReader,
    OffsetReader,
    TransactionalProducer,
    TransactionClient,
)

_PRODUCERS: Final = 2
_PROTOCOLS: Final = ("classic", "consumer")
#: InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, WriteTxnMarkers, TxnOffsetCommit.
_OF_TRANSACTIONS: Final = frozenset({22, 24, 25, 26, 27, 28})
_AT_WORK_MS: Final = 2_000.0
_LAST_MS: Final = 60_000.0


class TransactionSimulation(ClusterSimulation):
    """A cluster with transactional producers and members of a group."""

    def __init__(self, seed: int) -> None:
        random = Random(f"transactions of {seed}")
        drawn = ClusterSetup.drawn(seed)
        super().__init__(
            drawn._replace(partitions=random.choice((2, 3)), producers=(IDEMPOTENT,), nodes=3)
        )
        self.faults.keeps_disks = True
        self.network.never_late = _OF_TRANSACTIONS
        self._protocol = random.choice(_PROTOCOLS)
        self._transactions = ClusterTransactions(self.world)
        self._producers = list[TransactionalProducer]()
        self._readers = list[TransactionClient]()

    def begin_clients(self) -> None:
        super().begin_clients()
        kinds = (CommittedReader, GroupReader, OffsetReader)
        names = [(TransactionalProducer, f"t{each}") for each in range(_PRODUCERS)]
        for at, (kind, name) in enumerate([*names, *((each, each.__name__) for each in kinds)]):
            client = kind(
                name, self.network, bootstrap=self.bootstrap, seed=100 * self.setup.seed + at
            )
            client.partitions = self.setup.partitions
            if isinstance(client, TransactionalProducer):
                client.number = at
                self._producers.append(client)
            else:
                self._readers.append(client)
            if isinstance(client, GroupReader):
                client.protocol = self._protocol
            client.begin(self._transactions)

    def converge(self) -> None:
        world = self.world
        world.run_until(world.now_ms + _AT_WORK_MS)
        for producer in self._producers:
            producer.is_working = False
        super().converge()
        for reader in self._readers:
            reader.is_working = False
        while any(not each.is_done for each in self._readers) and world.now_ms < _LAST_MS:
            world.run_until(world.now_ms + SETTLE_MS)
        for reader in self._readers:
            if not reader.is_done:
                world.violate(CONVERGED, f"{reader.name} does not close")
        self._transactions.settle()
        if world.violation is not None:
            raise world.violation

    def unsettled(self) -> str:
        for producer in self._producers:
            if not producer.is_done:
                return f"{producer.name} is not done"
        return super().unsettled() or self._unsettled_logs() or self._transactions.unread()

    def _unsettled_logs(self) -> str:
        """Return an open transaction, or a replica with one."""
        brokers = self.brokers()
        for node_id, broker in brokers.items():
            for partition in broker.partitions:
                bounds = partition.log.bounds
                if not bounds.last_stable == bounds.high_watermark == bounds.log_end:
                    return f"node {node_id} has {partition.name} with {bounds}"
        found = [each for broker in brokers.values() for each in _transactions_of(broker)]
        for each in found:
            if each.state.is_prepared or each.state is TransactionState.ONGOING:
                return f"{each} is not ended"
        if {each.transactional_id for each in found} < {each.name for each in self._producers}:
            return "a coordinator is not loaded"
        return ""


def _transactions_of(broker: BrokerServices) -> list[TransactionMetadata]:
    """Return the transactions that a broker coordinates."""
    shards = broker.coordinators.transactions.runtime.shards()
    return [each for shard in shards for each in shard.transactions]


def run_transaction_seed(seed: int) -> ClusterRun:
    """Run one seed; raise ClusterFailed with its history and its script."""
    return run_simulation(TransactionSimulation(seed))
