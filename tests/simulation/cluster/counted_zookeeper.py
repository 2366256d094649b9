"""ZooKeeper of a simulated cluster: the states of partitions, and the counts of their changes."""

from typing import Final

from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.zookeeper.client.zookeeper_client import (
    CreateOp,
    MultiOp,
    MultiResult,
    SetDataOp,
)
from cordwood.cluster.zookeeper.client.zookeeper_errors import ZooKeeperError
from cordwood.cluster.zookeeper.znodes.partition_state_znode import decode_leadership
from cordwood.core.metadata_paths import partition_state_path
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.testing.zookeeper.memory_zookeeper import MemoryZooKeeper
from tests.simulation.cluster.cluster_world import ClusterWorld

TOPIC: Final = TopicName("orders")
_STATES: Final = f"/brokers/topics/{TOPIC}/partitions/"


class CountedZooKeeper(MemoryZooKeeper):
    """The server, with the writes that concern controllers, leaders and in-sync sets counted."""

    def __init__(self, world: ClusterWorld) -> None:
        super().__init__(world.clock, world.clock, delay_ms=lambda: world.random.uniform(0.2, 3))
        self._world = world

    def leadership(self, number: int) -> Leadership | None:
        """Return the stored leadership of a partition, None before the first one."""
        path = partition_state_path(TOPIC, number)
        try:
            node = self.tree.get(path)
        except ZooKeeperError:
            return None
        name = TopicPartition(TOPIC, PartitionId(number))
        return decode_leadership(name, node.data, version=node.stat.version)

    def _write(self, operations: list[MultiOp], session_id: int) -> list[MultiResult]:
        numbers = {
            int(each.path.split("/")[-2])
            for each in operations
            if isinstance(each, SetDataOp) and each.path.startswith(_STATES)
        }
        before = {each: self.leadership(each) for each in numbers}
        results = super()._write(operations, session_id)
        for number, former in before.items():
            self._count(number, former, self.leadership(number))
        if any(isinstance(each, CreateOp) and each.path == "/controller" for each in operations):
            self._world.count("controllers elected")
            self._world.note("ZooKeeper: a controller is elected")
        return results

    def _count(self, number: int, former: Leadership | None, now: Leadership | None) -> None:
        if former is None or now is None:
            return
        world = self._world
        world.note("ZooKeeper: partition {} is {}", number, now)
        if now.leader not in {former.leader, -1}:
            world.count("leaders elected")
        if {*former.isr} - {*now.isr}:
            world.count("in-sync sets shrunk")
        if {*now.isr} - {*former.isr}:
            world.count("in-sync sets expanded")
