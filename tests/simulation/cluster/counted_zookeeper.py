"""ZooKeeper of a simulated cluster: the states of partitions, and the counts of their changes."""

from typing import TYPE_CHECKING, Final

from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.zookeeper.client.zookeeper_client import (
    CreateOp,
    MultiOp,
    MultiResult,
    SetDataOp,
)
from cordwood.cluster.zookeeper.client.zookeeper_errors import ZooKeeperError
from cordwood.cluster.zookeeper.znodes.cluster_paths import CONTROLLER, DELETE_TOPICS
from cordwood.cluster.zookeeper.znodes.controller_znode import decode_controller
from cordwood.cluster.zookeeper.znodes.partition_state_znode import decode_leadership
from cordwood.core.metadata_paths import partition_state_path
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.testing.zookeeper.memory_zookeeper import MemoryZooKeeper
from tests.simulation.cluster.cluster_world import ClusterWorld

if TYPE_CHECKING:
    from collections.abc import Callable

TOPIC: Final = TopicName("orders")
_STATES: Final = f"/brokers/topics/{TOPIC}/partitions/"


class CountedZooKeeper(MemoryZooKeeper):
    """The server, with the writes that concern controllers, leaders and in-sync sets counted."""

    def __init__(self, world: ClusterWorld) -> None:
        super().__init__(world.clock, world.clock, delay_ms=lambda: world.random.uniform(0.2, 3))
        self._world = world
        #: Called with an event, and with the node that leads or is the controller.
        self.on_event: Callable[[str, int], object] = lambda _, __: None

    @property
    def is_deletion_requested(self) -> bool:
        """Whether the topic is being deleted."""
        return bool(self.tree.children(DELETE_TOPICS))

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
        for each in operations:
            if isinstance(each, CreateOp) and each.path == CONTROLLER:
                node_id = decode_controller(each.data)
                self._happens("controllers elected", node_id)
                self._world.note("ZooKeeper: node {} is the controller", node_id)
        return results

    def _count(self, number: int, former: Leadership | None, now: Leadership | None) -> None:
        if former is None or now is None:
            return
        world = self._world
        world.note("ZooKeeper: partition {} is {}", number, now)
        if now.leader not in {former.leader, -1}:
            self._happens("leaders elected", now.leader)
        if {*former.isr} - {*now.isr}:
            self._happens("in-sync sets shrunk", now.leader)
        if {*now.isr} - {*former.isr}:
            self._happens("in-sync sets expanded", now.leader)

    def _happens(self, event: str, node_id: int) -> None:
        self._world.count(event)
        self.on_event(event, node_id)
