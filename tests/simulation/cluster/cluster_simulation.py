"""One simulation of a cluster: three to five whole nodes, ZooKeeper, clients, and faults of a seed.

    0 s ── start ── 0.7 s ── faults ── 3.7 s ── sound, at work ── 4 s ── until all are in sync

After the faults every partition must get a leader, and all replicas must be in sync; all that was
acknowledged and consumed must be in every replica.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

from cordwood.broker.partitions.partition import Partition
from cordwood.broker.services import BrokerServices
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.cluster.active_controller.active_controller import ActiveController
from cordwood.core.errors import KafkaError
from tests.simulation.cluster.cluster_clients import ClusterConsumer, ClusterProducer
from tests.simulation.cluster.cluster_counts import counted
from tests.simulation.cluster.cluster_faults import ClusterFaults
from tests.simulation.cluster.cluster_ledger import ClusterLedger
from tests.simulation.cluster.cluster_network import ClusterNetwork, FrameFault
from tests.simulation.cluster.cluster_plan import BEGIN_MS, FAULTY_MS, ClusterPlan
from tests.simulation.cluster.cluster_script import (
    FRAME_STEPS,
    IDEMPOTENT,
    ONE,
    ClusterScript,
    ClusterSetup,
)
from tests.simulation.cluster.cluster_world import ClusterWorld
from tests.simulation.cluster.counted_zookeeper import TOPIC, CountedZooKeeper
from tests.simulation.cluster.simulated_node import SimulatedNode
from tests.simulation.simulation import SimulationFailed

CONVERGED: Final = "the cluster converges after the faults"
_NODES_MS: Final = 400.0
_WORKING_MS: Final = 4_000.0
LAST_MS: Final = 30_000.0
_LOOK_MS: Final = 80.0
SETTLE_MS: Final = 100.0
_CONSUMERS: Final = 2


class ClusterRun(NamedTuple):
    """The result of a simulation that has ended well."""

    counts: Counter[str]
    script: ClusterScript
    history: tuple[str, ...]


class ClusterSimulation:
    """The nodes and clients of one setup; a script replaces the faults that would be drawn."""

    def __init__(self, setup: ClusterSetup, script: ClusterScript | None = None) -> None:
        self.setup: Final = setup
        self.world = world = ClusterWorld(setup.seed)
        self.network: Final = ClusterNetwork(world)
        network = self.network
        self._zookeeper = zookeeper = CountedZooKeeper(world)
        self._nodes = [
            SimulatedNode(each + 1, world, network=network, zookeeper=zookeeper)
            for each in range(setup.nodes)
        ]
        self.faults: Final = ClusterFaults(
            world, self._nodes, partitions=setup.partitions, network=network, zookeeper=zookeeper
        )
        self._script = script
        self._ledger = ClusterLedger(world)
        self._consumers = list[ClusterConsumer]()

    def on_lead(self, partition: Partition, node_id: int) -> None:
        """Note that a node begins to lead a partition."""
        if partition.name.topic == TOPIC:
            self._ledger.lead(node_id, partition.name, partition.leader_epoch)

    @property
    def bootstrap(self) -> str:
        """The addresses of all nodes."""
        return ",".join(f"{each.host}:9092" for each in self._nodes)

    @property
    def script(self) -> ClusterScript:
        """The steps until now."""
        return ClusterScript(self.setup, tuple(self.world.steps))

    def run(self) -> ClusterRun:
        """Run to the end, or raise the first violation."""
        world = self.world
        world.is_faulty = False
        try:
            self._start()
            world.is_faulty = True
            self.begin_clients()
            self._begin_faults()
            self._look_later()
            world.run_until(FAULTY_MS)
            world.note("the faults end")
            world.is_faulty = False
            self.faults.end()
            world.run_until(_WORKING_MS)
            self.converge()
        finally:
            world.close()
        return ClusterRun(world.counts, self.script, tuple(map(str, world.history)))

    # -- the start

    def _start(self) -> None:
        world = self.world
        for each in self._nodes:
            each.fetch_bytes = self.setup.fetch_bytes
            each.on_end = partial(self.faults.ended, each)
            each.start()
        world.run_until(_NODES_MS)
        for each in self._nodes:
            broker, process = each.broker, each.process
            assert broker is not None, f"{each.name} has not started"
            assert process is not None, "as above"
            assert isinstance(broker.controller, ActiveController), "it is in a cluster"
            if broker.controller.is_active:
                with process.running():
                    process.begin(self._create_topic(broker))
        world.run_until(BEGIN_MS)
        assert self._zookeeper.leadership(0) is not None, "the topic was not created"

    async def _create_topic(self, broker: BrokerServices) -> None:
        new = NewTopic(name=TOPIC, partitions=self.setup.partitions)
        (created,) = await broker.topics.create([new])
        assert not isinstance(created, Exception), created

    def begin_clients(self) -> None:
        """Begin the clients, each in a process of its own."""
        bootstrap, seed = self.bootstrap, self.setup.seed
        for at, kind in enumerate(self.setup.producers):
            name = f"p{at}"
            producer = ClusterProducer(name, self.network, bootstrap=bootstrap, seed=seed + at)
            producer.acks = "1" if kind == ONE else "all"
            producer.is_idempotent = kind == IDEMPOTENT
            self.faults.producers[name] = producer
            producer.begin(self._ledger)
        for at in range(_CONSUMERS):
            name = f"c{at}"
            consumer = ClusterConsumer(name, self.network, bootstrap=bootstrap, seed=seed - at)
            consumer.partitions = self.setup.partitions
            self._consumers.append(consumer)
            consumer.begin(self._ledger)

    def _begin_faults(self) -> None:
        """Draw the faults, or plan those of the script."""
        faults, world = self.faults, self.world
        faults.before_end = self._look_at
        if self._script is None:
            hosts = [*faults.nodes, *faults.producers, *(each.name for each in self._consumers)]
            plan = ClusterPlan(faults, self.setup, hosts)
            self._zookeeper.on_event = plan.on_event
            self.network.faults = plan.frame_fault
            for each in self._nodes:
                each.on_end = partial(self._ended, plan, each)
            plan.begin()
            return
        frames = dict[str, FrameFault]()
        for step in self._script.steps:
            if step.kind in FRAME_STEPS:
                frame, late_ms = step.arguments
                frames[frame] = FrameFault(step.kind == "drop", float(late_ms))
            else:
                world.plan(step.at_ms, partial(faults.do, step.kind, *step.arguments))

        def scripted(name: str, api_key: int) -> FrameFault | None:
            fault = frames.get(name)
            if fault is not None:
                faults.note_frame(name, fault)
            return fault

        self.network.faults = scripted

    def _ended(self, plan: ClusterPlan, node: SimulatedNode) -> None:
        plan.ended(node)
        self.faults.ended(node)

    # -- checks

    def _look_later(self) -> None:
        for each in self._nodes:
            self._look_at(each)
        self.world.after(_LOOK_MS, self._look_later)

    def _look_at(self, node: SimulatedNode) -> None:
        if node.broker is not None and not node.is_stopping:
            self._ledger.look(node.node_id, node.broker)

    def brokers(self) -> dict[int, BrokerServices]:
        """Return the nodes that serve."""
        return {
            each.node_id: each.broker
            for each in self._nodes
            if each.broker is not None and not each.is_stopping
        }

    def converge(self) -> None:
        """Let everything settle, and check the records."""
        world, producers = self.world, self.faults.producers.values()
        for producer in producers:
            producer.end()
        while (reason := self.unsettled()) and world.now_ms < LAST_MS:
            world.run_until(world.now_ms + SETTLE_MS)
        if reason:
            world.violate(CONVERGED, reason)
        else:
            world.run_until(world.now_ms + SETTLE_MS)
            for consumer in self._consumers:
                consumer.is_working = False
            # After a failed record a producer takes another epoch, with other sequence numbers for
            # what is under way: that may be in the log twice.
            idempotent = [
                each.name for each in producers if each.is_idempotent and not each.has_failures
            ]
            world.counts["producers without failures"] += len(idempotent)
            self._ledger.settle(self.brokers(), idempotent=idempotent)
        if world.violation is not None:
            raise world.violation

    def unsettled(self) -> str:
        """Return a reason why the cluster has not converged, an empty one if it has."""
        brokers = self.brokers()
        for each in self._nodes:
            if each.node_id not in brokers:
                return f"{each.name} does not serve"
        for producer in self.faults.producers.values():
            if not producer.is_done:
                return f"{producer.name} is not done"
        for number in range(self.setup.partitions):
            reason = self._unsettled_partition(number, brokers)
            if reason:
                return reason
        return ""

    def _unsettled_partition(self, number: int, brokers: dict[int, BrokerServices]) -> str:
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


def run_cluster_seed(seed: int) -> ClusterRun:
    """Run one seed; raise SimulationFailed with its history and its script."""
    return run_simulation(ClusterSimulation(ClusterSetup.drawn(seed)))


def run_cluster_script(script: ClusterScript) -> ClusterRun:
    """Run a script; raise SimulationFailed as a seed does."""
    return run_simulation(ClusterSimulation(script.setup, script))


def run_simulation(simulation: ClusterSimulation) -> ClusterRun:
    """Run a simulation; raise ClusterFailed with its history and its script."""
    world, seed = simulation.world, simulation.setup.seed
    try:
        with _quiet(), counted(world, simulation.on_lead):
            return simulation.run()
    except Exception as error:
        invariant = getattr(error, "invariant", type(error).__name__)
        text = f"{world.story()}\n\n{simulation.script}\n\nseed {seed}: {error!r}"
        raise ClusterFailed(invariant, seed, text, simulation.script) from error


class ClusterFailed(SimulationFailed):
    """A failure of a simulated cluster, with the script that repeats it."""

    def __init__(self, invariant: str, seed: int, text: str, script: ClusterScript) -> None:
        super().__init__(invariant, seed, text)
        self.script = script
