"""A move of one partition to another broker, in virtual time and without faults.

Brokers 1 and 2 have the partition, and a producer writes to it all the time. It moves to 1 and 3.
"""

from collections.abc import Coroutine, Mapping
from typing import Final

from cordwood.client.admin.admin_client import Admin
from cordwood.client.admin.reassignment_throttles import (
    BROKER_THROTTLES,
    TOPIC_THROTTLES,
    broker_throttles,
    moves,
    topic_throttles,
)
from cordwood.client.aio import Producer
from cordwood.core.types import PartitionId, TopicPartition
from tests.simulation.cluster.cluster_clients import ClusterClient
from tests.simulation.cluster.cluster_network import ClusterNetwork
from tests.simulation.cluster.cluster_world import ClusterWorld
from tests.simulation.cluster.counted_zookeeper import TOPIC, CountedZooKeeper
from tests.simulation.cluster.simulated_node import SimulatedNode

PARTITION: Final = TopicPartition(TOPIC, PartitionId(0))
BEFORE: Final = (1, 2)
AFTER: Final = (1, 3)
_VALUE: Final = bytes(100_000)
_VALUES: Final = 40
_LOOK_MS: Final = 100.0
_PAUSE_MS: Final = 200.0


class ThrottledMove(ClusterClient):
    """The cluster, and the client that fills the partition and moves it."""

    def __init__(self) -> None:
        world = ClusterWorld(1)
        world.is_faulty = False
        network = ClusterNetwork(world)
        self.zookeeper: Final = CountedZooKeeper(world)
        self.nodes: Final = {
            each: SimulatedNode(each, world, network=network, zookeeper=self.zookeeper)
            for each in (1, 2, 3)
        }
        bootstrap = ",".join(f"{each.host}:9092" for each in self.nodes.values())
        super().__init__("client", network, bootstrap=bootstrap, seed=1)
        #: The bytes of the new replica by the time since the move has begun.
        self.copied: Final = dict[float, int]()
        self.began_ms = self.ended_ms = 0.0
        #: The time until each small record was acknowledged by all replicas in sync, while moving.
        self.acknowledged_ms: Final = list[float]()

    def run(self, limit: int | None) -> None:
        """Move with a limit in bytes per second; remove the throttle after the end."""
        for each in self.nodes.values():
            each.start()
        self.world.run_until(1_500)
        self._perform(self._fill())
        self._perform(self._move(limit))
        self.is_working = True
        with self.process.running():
            self.process.begin(self._produce())
        while not self._has_moved():
            self._look()
            self.world.run_until(self.world.now_ms + _LOOK_MS)
        self.ended_ms = self.world.now_ms
        self.is_working = False
        self._perform(self._remove_throttles())
        self.world.run_until(self.world.now_ms + 1_000)

    def close(self) -> None:
        """End all processes."""
        self.world.close()

    def size(self, node_id: int) -> int:
        """Return the bytes of a replica; 0 without one."""
        broker = self.nodes[node_id].broker
        assert broker is not None, "it serves"
        log = broker.logs.logs.get(PARTITION)
        return 0 if log is None else log.size

    # -- the client

    def _perform(self, scene: Coroutine[object, object, None]) -> None:
        """Run a step of the client to its end."""
        done = False

        async def whole() -> None:
            nonlocal done
            await scene
            done = True

        with self.process.running():
            self.process.begin(whole())
        while not done:
            self.world.run_until(self.world.now_ms + _LOOK_MS)

    async def _fill(self) -> None:
        async with Admin(self.bootstrap, runtime=self.runtime) as admin:
            await admin.create_topic(TOPIC, assignments={0: BEFORE})
        async with Producer[bytes, bytes](
            self.bootstrap, runtime=self.runtime, acks="all", batch_size=1
        ) as producer:
            for _ in range(_VALUES):
                await (await producer.send(TOPIC, _VALUE, partition=0))

    async def _move(self, limit: int | None) -> None:
        async with Admin(self.bootstrap, runtime=self.runtime) as admin:
            if limit is not None:
                found = moves({}, {PARTITION: AFTER}, replicas={PARTITION: BEFORE})
                for topic, lists in topic_throttles(found).items():
                    await admin.alter_configs(("topic", topic), change=lists)
                for broker, limits in broker_throttles(found, limit).items():
                    await admin.alter_configs(("broker", str(broker)), change=limits)
                await self.sleep(1_000)
            self.began_ms = self.world.now_ms
            assert await admin.reassign({PARTITION: AFTER}) == {PARTITION: None}

    async def _produce(self) -> None:
        async with Producer[bytes, bytes](
            self.bootstrap, runtime=self.runtime, acks="all"
        ) as producer:
            while self.is_working:
                began_ms = self.world.now_ms
                await (await producer.send(TOPIC, b"small", partition=0))
                self.acknowledged_ms.append(self.world.now_ms - began_ms)
                await self.sleep(_PAUSE_MS)

    async def _remove_throttles(self) -> None:
        async with Admin(self.bootstrap, runtime=self.runtime) as admin:
            for node_id in self.nodes:
                await admin.alter_configs(("broker", str(node_id)), reset=BROKER_THROTTLES)
            await admin.alter_configs(("topic", TOPIC), reset=TOPIC_THROTTLES)

    # -- what is seen

    def _look(self) -> None:
        self.copied[self.world.now_ms - self.began_ms] = self.size(3)

    def _has_moved(self) -> bool:
        leadership = self.zookeeper.leadership(0)
        return leadership is not None and {*leadership.isr} == {*AFTER}

    def limits(self) -> Mapping[int, tuple[int, int]]:
        """Return the limits of each broker, as leader and as follower."""
        found = {}
        for node_id, node in self.nodes.items():
            assert node.broker is not None, "it serves"
            throttles = node.broker.throttles
            found[node_id] = (throttles.leader.limit, throttles.follower.limit)
        return found
