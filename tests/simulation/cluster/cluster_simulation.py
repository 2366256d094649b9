"""One simulation of a cluster: three to five whole nodes, ZooKeeper, clients, and faults of a seed.

    0 s ── start ── 2 s ── faults ── 9 s ── sound, at work ── 11 s ── until all replicas are in sync

After the faults every partition must get a leader, and all replicas must be in sync; all that was
acknowledged and consumed must be in every replica.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import pytest

from cordwood.broker.membership.controller_fence import ControllerFence
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_follower import PartitionFollower
from cordwood.broker.services import BrokerServices
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.cluster.active_controller.active_controller import ActiveController
from cordwood.core.errors import KafkaError
from tests.simulation.cluster.cluster_clients import ClusterConsumer, ClusterProducer
from tests.simulation.cluster.cluster_faults import FAULTY_MS, ClusterFaults
from tests.simulation.cluster.cluster_ledger import ClusterLedger
from tests.simulation.cluster.cluster_network import ClusterNetwork
from tests.simulation.cluster.cluster_world import ClusterWorld
from tests.simulation.cluster.counted_zookeeper import TOPIC, CountedZooKeeper
from tests.simulation.cluster.simulated_node import SimulatedNode
from tests.simulation.simulation import SimulationFailed

CONVERGED: Final = "the cluster converges after the faults"
_START_MS: Final = 1_500.0
_WORKING_MS: Final = 11_000.0
_LAST_MS: Final = 45_000.0
_LOOK_MS: Final = 100.0
_SETTLE_MS: Final = 500.0


class ClusterSimulation:
    """The nodes and clients of one seed."""

    def __init__(self, seed: int) -> None:
        self.world = world = ClusterWorld(seed)
        random = world.random
        self.partitions = random.randint(1, 3)
        self._network = ClusterNetwork(world)
        self._zookeeper = CountedZooKeeper(world)
        self._nodes = [
            SimulatedNode(each + 1, world, network=self._network, zookeeper=self._zookeeper)
            for each in range(random.choice((3, 3, 3, 4, 5)))
        ]
        self._faults = ClusterFaults(
            world, self._nodes, network=self._network, zookeeper=self._zookeeper
        )
        for each in self._nodes:
            each.on_end = partial(self._faults.ended, each)
        self._ledger = ClusterLedger(world)
        self._bootstrap = ",".join(f"{each.host}:9092" for each in self._nodes)
        self._producers = list[ClusterProducer]()
        self._consumers = list[ClusterConsumer]()

    def run(self) -> Counter[str]:
        """Run to the end; return the counts, or raise the first violation."""
        world = self.world
        world.is_faulty = False
        try:
            self._start()
            world.is_faulty = True
            self._begin_clients()
            clients = [each.name for each in (*self._producers, *self._consumers)]
            self._faults.plan(
                partitions=self.partitions, hosts=[*(each.name for each in self._nodes), *clients]
            )
            self._look_later()
            world.run_until(FAULTY_MS)
            world.note("the faults end")
            world.is_faulty = False
            self._faults.end()
            world.run_until(_WORKING_MS)
            self._converge()
        finally:
            world.close()
        return world.counts

    # -- the start

    def _start(self) -> None:
        world = self.world
        for each in self._nodes:
            each.start()
        world.run_until(1_000)
        for each in self._nodes:
            broker, process = each.broker, each.process
            assert broker is not None, f"{each.name} has not started"
            assert process is not None, "as above"
            assert isinstance(broker.controller, ActiveController), "it is in a cluster"
            if broker.controller.is_active:
                with process.running():
                    process.begin(self._create_topic(broker))
        world.run_until(_START_MS)
        assert self._zookeeper.leadership(0) is not None, "the topic was not created"

    async def _create_topic(self, broker: BrokerServices) -> None:
        (created,) = await broker.topics.create([NewTopic(name=TOPIC, partitions=self.partitions)])
        assert not isinstance(created, Exception), created

    def _begin_clients(self) -> None:
        kinds = (("all", True), ("all", False), ("1", False))
        for at, (acks, is_idempotent) in enumerate(kinds):
            producer = ClusterProducer(
                f"p{at}", self._network, bootstrap=self._bootstrap, seed=self.world.seed + at
            )
            producer.acks, producer.is_idempotent = acks, is_idempotent
            producer.partitions = self.partitions
            self._producers.append(producer)
            producer.begin(self._ledger)
        for at in range(2):
            consumer = ClusterConsumer(
                f"c{at}", self._network, bootstrap=self._bootstrap, seed=self.world.seed - at
            )
            consumer.partitions = self.partitions
            self._consumers.append(consumer)
            consumer.begin(self._ledger)

    # -- checks

    def _look_later(self) -> None:
        for node_id, broker in self._brokers().items():
            self._ledger.look(node_id, broker)
        self.world.after(_LOOK_MS, self._look_later)

    def _brokers(self) -> dict[int, BrokerServices]:
        return {
            each.node_id: each.broker
            for each in self._nodes
            if each.broker is not None and not each.is_stopping
        }

    def _converge(self) -> None:
        """Let everything settle, and check the records."""
        world = self.world
        for producer in self._producers:
            producer.is_working = False
        while (reason := self._unsettled()) and world.now_ms < _LAST_MS:
            world.run_until(world.now_ms + _SETTLE_MS)
        if reason:
            world.violate(CONVERGED, reason)
        else:
            world.run_until(world.now_ms + _SETTLE_MS)
            for consumer in self._consumers:
                consumer.is_working = False
            # After a failed record a producer takes another epoch, with other sequence numbers for
            # what is under way: that may be in the log twice.
            idempotent = [
                each.name
                for each in self._producers
                if each.is_idempotent and not each.has_failures
            ]
            world.counts["producers without failures"] += len(idempotent)
            self._ledger.settle(self._brokers(), idempotent=idempotent)
        if world.violation is not None:
            raise world.violation

    def _unsettled(self) -> str:
        """Return a reason why the cluster has not converged, an empty one if it has."""
        brokers = self._brokers()
        for each in self._nodes:
            if each.node_id not in brokers:
                return f"{each.name} does not serve"
        for producer in self._producers:
            if not producer.is_done:
                return f"{producer.name} is not done"
        for number in range(self.partitions):
            leadership = self._zookeeper.leadership(number)
            assert leadership is not None, "it was created"
            if leadership.leader < 0 or len(leadership.isr) < _REPLICAS:
                return f"partition {number} is {leadership}"
            ends = set[tuple[int, int]]()
            for node_id in leadership.isr:
                try:
                    bounds = brokers[node_id].partitions.get(TOPIC, number).log.bounds
                except KafkaError as error:
                    return f"node {node_id} has no replica of partition {number}: {error!r}"
                ends.add((bounds.high_watermark, bounds.log_end))
            if len(ends) > 1 or any(mark != end for mark, end in ends):
                return f"the replicas of partition {number} end at {sorted(ends)}"
        return ""


_REPLICAS: Final = 3


@contextmanager
def _counted(world: ClusterWorld) -> Iterator[None]:
    """Count fences and truncations."""
    admit, truncate, ensure = (
        ControllerFence.admit,
        PartitionFollower.truncate,
        Partition.ensure_epoch,
    )

    def counted_admit(fence: ControllerFence, **epochs: int) -> None:
        try:
            admit(fence, **epochs)
        except KafkaError as error:
            world.count(f"requests fenced: {type(error).__name__}")
            raise

    def counted_ensure(partition: Partition, leader_epoch: int) -> None:
        try:
            ensure(partition, leader_epoch)
        except KafkaError as error:
            world.count(f"requests fenced: {type(error).__name__}")
            raise

    def counted_truncate(follower: PartitionFollower, offset: int) -> object:
        removed = follower.log.bounds.log_end - offset
        if removed > 0:
            world.count("logs truncated")
            world.note("{} is truncated from {} to {}", follower.log, removed + offset, offset)
        return truncate(follower, offset)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ControllerFence, "admit", counted_admit)
        patch.setattr(Partition, "ensure_epoch", counted_ensure)
        patch.setattr(PartitionFollower, "truncate", counted_truncate)
        yield


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the lines of the nodes out of the log."""
    logger = logging.getLogger("cordwood")
    was_disabled, logger.disabled = logger.disabled, True
    level, propagates = logger.level, logger.propagate
    logger.setLevel(logging.CRITICAL)
    logger.propagate = False
    try:
        yield
    finally:
        logger.disabled = was_disabled
        logger.setLevel(level)
        logger.propagate = propagates


def run_cluster_seed(seed: int) -> Counter[str]:
    """Run one seed; return its counts, or raise SimulationFailed with its history."""
    simulation = ClusterSimulation(seed)
    world = simulation.world
    try:
        with _quiet(), _counted(world):
            return simulation.run()
    except Exception as error:
        invariant = getattr(error, "invariant", type(error).__name__)
        text = f"seed {seed}\n{world.story()}\nseed {seed}: {error!r}"
        raise SimulationFailed(invariant, seed, text) from error
