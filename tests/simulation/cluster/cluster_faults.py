"""Faults of a simulated cluster, and operations of its clients: the steps of a script, performed.

    kill        a process ends, its disk keeps all writes
    crash       a machine loses what is not synced; `lose`: its whole disk
    pause       a process stands still, perhaps longer than its session
    part        two processes cannot reach each other
    cut         a node cannot reach ZooKeeper, perhaps longer than its session
    expire      ZooKeeper ends a session, and the node is alive

A loss of data is within the promise as long as another in-sync replica has the records. A machine
that has lost data comes back when no in-sync set has it any longer: Kafka with ZooKeeper cannot
recognize a replica whose log has become shorter meanwhile (KIP-966).

A step that is impossible, as in a script of which a part was removed, has no effect.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tests.simulation.cluster.cluster_clients import ClusterProducer
from tests.simulation.cluster.cluster_network import ClusterNetwork, FrameFault
from tests.simulation.cluster.cluster_world import ClusterWorld
from tests.simulation.cluster.counted_zookeeper import CountedZooKeeper
from tests.simulation.cluster.simulated_node import SimulatedNode

RETRY_MS: Final = 40.0
_LAST_START_MS: Final = 100.0

#: The steps that are counted, and the names of the counts.
COUNTS: Final[Mapping[str, str]] = {
    "kill": "kills",
    "crash": "crashes",
    "lose": "disks lost",
    "stop": "controlled shutdowns",
    "pause": "pauses",
    "expire": "sessions expired",
    "break": "connections to ZooKeeper broken",
    "cut": "cuts from ZooKeeper",
    "zookeeper-stop": "stops of ZooKeeper",
    "part": "partitions",
}


class ClusterFaults:
    """Performs and records the steps of one simulation."""

    def __init__(
        self,
        world: ClusterWorld,
        nodes: Sequence[SimulatedNode],
        *,
        partitions: int,
        network: ClusterNetwork,
        zookeeper: CountedZooKeeper,
    ) -> None:
        self.world: Final = world
        self.nodes: Final = {each.name: each for each in nodes}
        self.partitions: Final = partitions
        self.zookeeper: Final = zookeeper
        self.producers = dict[str, ClusterProducer]()
        #: Sends records: by a producer, to a partition, their number.
        self.send: Callable[[str, int, int], object] = self._produce
        #: Whether no machine loses data: the promise is then one of all partitions.
        self.keeps_disks = False
        #: Nodes that have lost data, and are down.
        self.lossy = dict[SimulatedNode, None]()
        #: Called with a node before it ends, and with one that has ended by itself.
        self.before_end: Callable[[SimulatedNode], object] = lambda _: None
        self._network = network
        self._is_over = False

    def do(self, kind: str, *arguments: str) -> None:
        """Perform one step now."""
        self.world.record(kind, *arguments)
        if kind != "send":
            self.world.note("FAULT {} {}", kind, " ".join(arguments))
        if kind in COUNTS:
            self.world.count(COUNTS[kind])
        perform = self._performers()[kind]
        perform(*arguments)

    def _performers(self) -> Mapping[str, Callable[..., object]]:
        return {
            "send": self._send,
            "kill": self._kill,
            "crash": self._crash,
            "lose": self._lose,
            "start": self._start,
            "stop": lambda name: self.nodes[name].stop(),
            "pause": self._pause,
            "resume": self._resume,
            "expire": lambda name: self.nodes[name].expire(),
            "break": self._break,
            "cut": self._cut,
            "join": self._join,
            "zookeeper-stop": self._stop_zookeeper,
            "zookeeper-start": self._start_zookeeper,
            "part": self._network.partition,
            "heal": self._network.heal,
        }

    def note_frame(self, name: str, fault: FrameFault) -> None:
        """Record the fault of a frame."""
        kind = "drop" if fault.is_lost else "delay"
        self.world.record(kind, name, str(fault.late_ms))
        self.world.note("FAULT {} {} {}", kind, name, fault.late_ms)
        if not fault.is_lost:
            self.world.count("frames delayed")
        else:
            self.world.count("requests lost" if ">" in name else "responses lost")

    def end(self) -> None:
        """End all faults that last; nodes that are down start, also later ones."""
        self._is_over = True
        self._network.heal_all()
        self._start_zookeeper()
        for name, node in self.nodes.items():
            self._join(name)
            self._resume(name)
            if not node.is_running:
                self._start(name)

    def ended(self, node: SimulatedNode) -> None:
        """Start a node again that has ended by itself after the faults."""
        if self._is_over:
            self.world.plan(self.world.now_ms + _LAST_START_MS, lambda: self._start(node.name))

    # -- clients

    def _send(self, producer: str, partition: str, count: str) -> None:
        self.send(producer, int(partition), int(count))

    def _produce(self, producer: str, number: int, count: int) -> None:
        self.producers[producer].produce(number, count)

    # -- processes

    def _kill(self, name: str, late_ms: str) -> None:
        node = self.nodes[name]
        if node.is_running:
            self.before_end(node)
            node.kill(late_ms=float(late_ms))

    def _crash(self, name: str, late_ms: str) -> None:
        self._end_lossy(name, late_ms, loses_disk=False)

    def _lose(self, name: str, late_ms: str) -> None:
        self._end_lossy(name, late_ms, loses_disk=True)

    def _end_lossy(self, name: str, late_ms: str, *, loses_disk: bool) -> None:
        node = self.nodes[name]
        if node.is_running:
            self.before_end(node)
            node.crash(loses_disk=loses_disk, late_ms=float(late_ms))
            self.lossy[node] = None

    def _start(self, name: str) -> None:
        node = self.nodes[name]
        if node.is_running:
            return
        if node in self.lossy:
            if self._is_in_sync(node):
                self.world.plan(self.world.now_ms + RETRY_MS, lambda: self._start(name))
                return
            del self.lossy[node]
        node.start()

    def _is_in_sync(self, node: SimulatedNode) -> bool:
        if self.zookeeper.is_deletion_requested:
            return False
        found = [self.zookeeper.leadership(each) for each in range(self.partitions)]
        return any(each is not None and node.node_id in each.isr for each in found)

    def _pause(self, name: str) -> None:
        if self.nodes[name].is_running:
            self.nodes[name].pause()

    def _resume(self, name: str) -> None:
        process = self.nodes[name].process
        if process is not None and process.is_paused:
            process.resume()

    # -- ZooKeeper

    def _break(self, name: str, arriving: str) -> None:
        client = self.nodes[name].client
        if client is not None:
            client.break_connection(int(arriving))

    def _cut(self, name: str, arriving: str) -> None:
        client = self.nodes[name].client
        if client is not None:
            client.cut(int(arriving))

    def _join(self, name: str) -> None:
        client = self.nodes[name].client
        if client is not None:
            client.heal()

    def _stop_zookeeper(self) -> None:
        if self.zookeeper.is_up:
            self.zookeeper.stop()

    def _start_zookeeper(self) -> None:
        if not self.zookeeper.is_up:
            self.zookeeper.restart()
