"""Faults of a simulated cluster, drawn from its seed.

    kill        a process ends, its disk keeps all writes; it starts again
    crash       a machine loses what is not synced, or its whole disk; it starts again
    pause       a process stands still, perhaps longer than its session
    partition   two processes cannot reach each other
    cut         a node cannot reach ZooKeeper, perhaps longer than its session
    ZooKeeper   stops for a time
    stop        a controlled shutdown, and a start

A loss of data is within the promise as long as another in-sync replica has the records. A machine
that has lost data comes back when no in-sync set has it any longer: Kafka with ZooKeeper cannot
recognize a replica whose log has become shorter meanwhile (KIP-966). Until then no other session
may end: the controller would leave the in-sync set to the replica that is lost.
"""

from collections.abc import Callable, Sequence
from typing import Final

from cordwood.cluster.active_controller.active_controller import ActiveController
from cordwood.cluster.partition.leader import Leader
from tests.simulation.cluster.cluster_network import ClusterNetwork
from tests.simulation.cluster.cluster_world import ClusterWorld
from tests.simulation.cluster.counted_zookeeper import TOPIC, CountedZooKeeper
from tests.simulation.cluster.simulated_node import SESSION_TIMEOUT_MS, SimulatedNode

BEGIN_MS: Final = 2_000.0
FAULTY_MS: Final = 9_000.0
_LONGEST_DOWN_MS: Final = 2_500.0
_LONGEST_FAULT_MS: Final = 4_000.0
_RETRY_MS: Final = 300.0
_WHOLE_DISK: Final = 0.3


class ClusterFaults:
    """Faults in the time of one simulation."""

    def __init__(
        self,
        world: ClusterWorld,
        nodes: Sequence[SimulatedNode],
        *,
        network: ClusterNetwork,
        zookeeper: CountedZooKeeper,
    ) -> None:
        self._world = world
        self._nodes = nodes
        self._network = network
        self._zookeeper = zookeeper
        self._partitions = 0
        #: The time at which all pauses and cuts have ended.
        self._sound_ms = 0.0
        #: Nodes that have lost data, and are down.
        self._lossy = dict[SimulatedNode, None]()

    def plan(self, *, partitions: int, hosts: Sequence[str]) -> None:
        """Draw the faults."""
        self._partitions = partitions
        random = self._world.random
        faults: tuple[tuple[Callable[[], object], int], ...] = (
            (self._kill, 2),
            (self._crash, 2),
            (self._pause, 2),
            (lambda: self._partition(hosts), 3),
            (self._cut, 2),
            (self._break_session, 2),
            (self._stop_zookeeper, 1),
            (self._stop, 1),
        )
        for call, most in faults:
            for _ in range(random.randint(0, most)):
                self._world.at(random.uniform(BEGIN_MS, FAULTY_MS), call)

    def end(self) -> None:
        """End all faults that last; nodes that are down start."""
        self._network.heal_all()
        if not self._zookeeper.is_up:
            self._zookeeper.restart()
        for each in self._nodes:
            if each.client is not None:
                each.client.heal()
            if each.process is not None and each.process.is_paused:
                each.process.resume()
            if each.process is None:
                self._start(each)

    # -- processes

    def _a_node(self) -> SimulatedNode | None:
        """Draw a node that runs; half of the time one that leads, or is the controller."""
        random = self._world.random
        running = [each for each in self._nodes if each.broker is not None and not each.is_stopping]
        leading = [each for each in running if self._is_leading(each)]
        if leading and random.random() < 0.5:
            return random.choice(leading)
        return random.choice(running) if running else None

    @staticmethod
    def _is_leading(node: SimulatedNode) -> bool:
        broker = node.broker
        assert broker is not None, "it runs"
        assert isinstance(broker.controller, ActiveController), "it is in a cluster"
        return broker.controller.is_active or any(
            isinstance(each.role, Leader) and each.name.topic == TOPIC for each in broker.partitions
        )

    def _kill(self) -> None:
        node = self._a_node()
        if node is not None and not self._lossy:
            self._world.note("{}: is killed", node.name)
            self._world.count("kills")
            node.kill()
            self._start_later(node)

    def _crash(self) -> None:
        world, node = self._world, self._a_node()
        if node is None or not self._may_lose(node):
            return
        is_whole = world.random.random() < _WHOLE_DISK
        world.note("{}: crashes{}", node.name, ", and loses its disk" if is_whole else "")
        world.count("disks lost" if is_whole else "crashes")
        node.crash(loses_disk=is_whole)
        self._lossy[node] = None
        self._start_later(node)

    def _may_lose(self, node: SimulatedNode) -> bool:
        """Return whether another in-sync replica has the records of each partition.

        A leader whose proposal is under way may be the only one that is in sync soon.
        """
        assert node.broker is not None, "it runs"
        if not self._zookeeper.is_up or self._world.now_ms < self._sound_ms:
            return False
        if any(each.broker is None or each.is_stopping for each in self._nodes):
            return False
        for each in node.broker.partitions:
            if isinstance(each.role, Leader) and each.role.pending is not None:
                return False
        for number in range(self._partitions):
            leadership = self._zookeeper.leadership(number)
            if leadership is None or not {*leadership.isr} - {node.node_id}:
                return False
        return True

    def _start_later(self, node: SimulatedNode) -> None:
        delay_ms = self._world.random.uniform(50, _LONGEST_DOWN_MS)
        self._world.after(delay_ms, lambda: self._start(node))

    def _start(self, node: SimulatedNode) -> None:
        if node.is_running:
            return
        if node in self._lossy:
            if self._is_in_sync(node):
                self._world.after(_RETRY_MS, lambda: self._start(node))
                return
            del self._lossy[node]
        node.start()

    def _is_in_sync(self, node: SimulatedNode) -> bool:
        found = [self._zookeeper.leadership(each) for each in range(self._partitions)]
        return any(each is not None and node.node_id in each.isr for each in found)

    def ended(self, node: SimulatedNode) -> None:
        """Start a node again whose process has ended by itself."""
        self._start_later(node)

    def _stop(self) -> None:
        node = self._a_node()
        if node is not None and not self._lossy:
            self._world.count("controlled shutdowns")
            node.stop()

    def _pause(self) -> None:
        node = self._a_node()
        if node is None or node.process is None or node.process.is_paused or self._lossy:
            return
        process, duration_ms = node.process, self._drawn_ms()
        self._sound_ms = max(self._sound_ms, self._world.now_ms + duration_ms + SESSION_TIMEOUT_MS)
        self._world.note("{}: is paused for {:.0f} ms", node.name, duration_ms)
        self._world.count("pauses")
        node.pause()

        def resume() -> None:
            if process.is_paused and process.is_alive:
                self._world.note("{}: goes on", node.name)
                process.resume()

        self._world.after(duration_ms, resume)

    # -- connections

    def _drawn_ms(self) -> float:
        return self._world.random.uniform(100, _LONGEST_FAULT_MS)

    def _partition(self, hosts: Sequence[str]) -> None:
        one, other = self._world.random.sample(hosts, 2)
        duration_ms = self._drawn_ms()
        self._world.note("{} and {} are partitioned for {:.0f} ms", one, other, duration_ms)
        self._world.count("partitions")
        self._network.partition(one, other)

        def heal() -> None:
            self._world.note("{} and {} reach each other", one, other)
            self._network.heal(one, other)

        self._world.after(duration_ms, heal)

    def _cut(self) -> None:
        node = self._a_node()
        client = None if node is None else node.client
        if node is None or client is None or self._lossy:
            return
        duration_ms = self._drawn_ms()
        self._sound_ms = max(self._sound_ms, self._world.now_ms + duration_ms + SESSION_TIMEOUT_MS)
        self._world.note("{}: is cut from ZooKeeper for {:.0f} ms", node.name, duration_ms)
        self._world.count("cuts from ZooKeeper")
        client.cut(self._world.random.randint(0, 2))
        self._world.after(duration_ms, client.heal)

    def _break_session(self) -> None:
        node = self._a_node()
        if node is None or node.client is None:
            return
        self._world.count("connections to ZooKeeper broken")
        self._world.note("{}: its connection to ZooKeeper breaks", node.name)
        node.client.break_connection(self._world.random.randint(0, 2))

    def _stop_zookeeper(self) -> None:
        if not self._zookeeper.is_up or self._lossy:
            return
        self._world.note("ZooKeeper stops")
        self._world.count("stops of ZooKeeper")
        self._zookeeper.stop()

        def restart() -> None:
            if not self._zookeeper.is_up:
                self._world.note("ZooKeeper starts")
                self._zookeeper.restart()

        self._world.after(self._drawn_ms(), restart)
