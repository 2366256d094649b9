"""Simulated cluster whose topic is deleted and created again, among the faults of a seed.

Each record begins with the id of the topic to which it was written. No replica may have a record of
another topic, or the log of another one. At the end no deletion waits, and all replicas of the last
topic have what was acknowledged for its id.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Final, NamedTuple

from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_leader import AppendRequest, PartitionAppendResult
from cordwood.broker.partitions.partition_role import Offline
from cordwood.broker.services import BrokerServices
from cordwood.broker.topics.topic_selection import TopicReference
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.cluster.active_controller.active_controller import ActiveController
from cordwood.cluster.controller.effects import StoredAssignment
from cordwood.cluster.partition.leader import Leader
from cordwood.cluster.zookeeper.client.zookeeper_errors import ZooKeeperError
from cordwood.cluster.zookeeper.znodes.topic_znode import decode_topic_znode
from cordwood.core.errors import KafkaError
from cordwood.core.metadata_paths import topic_path
from cordwood.core.ports import Pending
from cordwood.core.types import PartitionId, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.records.batch_builder import BatchBuilder
from cordwood.storage.log.log_read import FetchIsolation
from tests.simulation.cluster.cluster_ledger import LOST, ONE_LEADER, batches_of
from tests.simulation.cluster.cluster_plan import BEGIN_MS, FAULTY_MS
from tests.simulation.cluster.cluster_script import ClusterSetup
from tests.simulation.cluster.cluster_simulation import (
    CONVERGED,
    LAST_MS,
    SETTLE_MS,
    ClusterRun,
    ClusterSimulation,
    run_simulation,
)
from tests.simulation.cluster.cluster_world import ProcessLoop
from tests.simulation.cluster.counted_zookeeper import TOPIC
from tests.simulation.cluster.simulated_node import SimulatedNode

MIXED: Final = "a replica has records of its own topic alone"
_BETWEEN_CHANGES_MS: Final = 120.0
_TIMEOUT_MS: Final = 500
_CHANGES: Final = ("create", "create", "create", "delete", "delete")


class _Serving(NamedTuple):
    """A node that serves, and does not stand still."""

    process: ProcessLoop
    broker: BrokerServices


class TopicChurn(ClusterSimulation):
    """The changes of one topic, and writes to its leaders without a client between."""

    def __init__(self, setup: ClusterSetup) -> None:
        super().__init__(setup)
        self._random = Random(f"topics of {setup.seed}")
        self._acknowledged = defaultdict[tuple[Uuid, int], dict[int, bytes]](dict)
        self._leaders = dict[tuple[Uuid, int, int], int]()
        self._values = 0
        self._begun_ms = 0.0

    def on_lead(self, partition: Partition, node_id: int) -> None:
        """Note that a node begins to lead a partition of one topic id."""
        if partition.name.topic == TOPIC:
            key = partition.topic_id, partition.name.partition, partition.leader_epoch
            known = self._leaders.setdefault(key, node_id)
            if known != node_id:
                self.world.violate(ONE_LEADER, f"{known} and {node_id} lead {partition}")

    # -- changes and writes

    def begin_clients(self) -> None:
        self.faults.send = self._write
        at_ms = BEGIN_MS
        while at_ms < FAULTY_MS:
            at_ms += self._random.expovariate(1 / _BETWEEN_CHANGES_MS)
            self.world.plan(at_ms, lambda: self._change(self._random.choice(_CHANGES)))

    def _change(self, kind: str) -> None:
        """Change the topic through a broker that takes itself for the controller."""
        active = [each for each in self._serving() if _is_active(each.broker)]
        if active:
            chosen = self._random.choice(active)
            with chosen.process.running():
                chosen.process.begin(self._changed(chosen.broker, kind))

    async def _changed(self, broker: BrokerServices, kind: str) -> None:
        try:
            if kind == "delete":
                deleted = await broker.topics.delete([TopicReference(TOPIC)])
                is_changed = bool(deleted.topic_ids)
            else:
                new = NewTopic(name=TOPIC, partitions=self.setup.partitions)
                (created,) = await broker.topics.create([new])
                is_changed = not isinstance(created, KafkaError)
        except KafkaError:
            is_changed = False
        if is_changed:
            self.world.count(f"topics to {kind}")

    def _write(self, _: str, number: int, count: int) -> None:
        """Write to any replica that leads; a former leader may still take itself for one."""
        leading = list[tuple[ProcessLoop, Partition]]()
        for each in self._serving():
            found = _find(each.broker, number)
            if found is not None and isinstance(found.role, Leader):
                leading.append((each.process, found))
        if not leading:
            return
        process, partition = self._random.choice(leading)
        with process.running():
            while count > 0:
                self._append(partition)
                count -= 1

    def _append(self, partition: Partition) -> None:
        self._values += 1
        value = partition.topic_id + str(self._values).encode()
        builder = BatchBuilder()
        builder.append(None, value, timestamp=int(self.world.clock.now_ms()))
        records = memoryview(bytearray(builder.build()))
        try:
            pending = partition.append(records, AppendRequest(timeout_ms=_TIMEOUT_MS))
        except KafkaError:
            return
        pending.add_done_callback(partial(self._written, partition, value))

    def _written(
        self, partition: Partition, value: bytes, pending: Pending[PartitionAppendResult]
    ) -> None:
        if pending.exception() is None:
            self.world.count("records acknowledged")
            known = self._acknowledged[partition.topic_id, partition.name.partition]
            known[pending.result().result.first_offset] = value

    def _serving(self) -> Iterator[_Serving]:
        for node in self._nodes:
            process, broker = node.process, node.broker
            if process is None or broker is None or node.is_stopping or process.is_paused:
                continue
            yield _Serving(process, broker)

    # -- checks

    def _look_at(self, node: SimulatedNode) -> None:
        broker = node.broker
        if broker is None or node.is_stopping:
            return
        for number in range(self.setup.partitions):
            found = _find(broker, number)
            if found is not None:
                self._look_at_replica(broker, found)

    def _look_at_replica(self, broker: BrokerServices, partition: Partition) -> None:
        owner = broker.logs.topic_id(partition.name)
        values = _records(partition).values()
        strangers = [each for each in values if not each.startswith(partition.topic_id)]
        if owner != partition.topic_id or strangers:
            text = f"{partition} of {partition.topic_id!r} has the log of {owner!r}: {strangers}"
            self.world.violate(MIXED, text)

    def unsettled(self) -> str:
        brokers = self.brokers()
        for node in self._nodes:
            if node.node_id not in brokers:
                return f"{node.name} does not serve"
        if self._zookeeper.is_deletion_requested:
            return "a deletion waits"
        stored = self._stored()
        if stored is None:
            if self.world.now_ms >= self._begun_ms:
                self._begun_ms = self.world.now_ms + _TIMEOUT_MS
                self._change("create")
            return "there is no topic"
        for number in range(self.setup.partitions):
            reason = self._unsettled_replicas(number, brokers, stored)
            if reason:
                return reason
        return ""

    def _unsettled_replicas(
        self, number: int, brokers: dict[int, BrokerServices], stored: StoredAssignment
    ) -> str:
        if self._zookeeper.leadership(number) is None:
            return f"partition {number} has no leader yet"
        name, replicas = TopicPartition(TOPIC, PartitionId(number)), stored.partitions[number]
        for node_id, broker in brokers.items():
            found = broker.logs.topic_id(name) if name in broker.logs.logs else None
            if found != (stored.topic_id if node_id in replicas.replicas else None):
                return f"node {node_id} has the log of {found!r} for {number} of {stored}"
        return self._unsettled_partition(number, brokers)

    def _stored(self) -> StoredAssignment | None:
        try:
            return decode_topic_znode(TOPIC, self._zookeeper.tree.get(topic_path(TOPIC)).data)
        except ZooKeeperError:
            return None

    def converge(self) -> None:
        world = self.world
        while (reason := self.unsettled()) and world.now_ms < LAST_MS:
            world.run_until(world.now_ms + SETTLE_MS)
        if reason:
            world.violate(CONVERGED, reason)
        for each in self._serving():
            for number in range(self.setup.partitions):
                self._settle(each.broker, number)
        if world.violation is not None:
            raise world.violation

    def _settle(self, broker: BrokerServices, number: int) -> None:
        partition = _find(broker, number)
        if partition is None:
            return
        self._look_at_replica(broker, partition)
        records = _records(partition)
        for offset, value in self._acknowledged[partition.topic_id, number].items():
            if records.get(offset) != value:
                text = f"{partition} has {records.get(offset)!r} at {offset}, instead of {value!r}"
                self.world.violate(LOST, text)


def _is_active(broker: BrokerServices) -> bool:
    assert isinstance(broker.controller, ActiveController), "it is in a cluster"
    return broker.controller.is_active


def _find(broker: BrokerServices, number: int) -> Partition | None:
    """Return a partition that is hosted with a usable log."""
    try:
        found = broker.partitions.get(TOPIC, number)
    except KafkaError:
        return None
    return None if isinstance(found.role, Offline) else found


def _records(partition: Partition) -> dict[int, bytes]:
    return {
        record.offset: bytes(record.value or b"")
        for batch in batches_of(partition, 0, FetchIsolation.LOG_END)
        for record in batch.records()
    }


def run_topic_churn(seed: int) -> ClusterRun:
    """Run one seed; raise SimulationFailed with its history."""
    return run_simulation(TopicChurn(ClusterSetup.drawn(seed)))
