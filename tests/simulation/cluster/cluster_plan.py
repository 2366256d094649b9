"""Faults and client operations of one seed, drawn while the simulation runs.

Each seed has faults of some kinds only, and many of those: that leads further than a little of
everything. Faults come at random times, and at awkward ones: shortly after the records of a client,
and shortly after an event of the cluster.

    a leader is elected        it ends before its followers have fetched
    a follower joins the set   the leader ends before the follower has more
    a follower leaves it       the same
    a controller is elected    it ends among its first requests

A node whose data is lost must not be the last one in sync. So data is lost while all other nodes
are well, and no session ends until the node has left the in-sync sets.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Final

from cordwood.cluster.active_controller.active_controller import ActiveController
from cordwood.cluster.partition.leader import Leader
from tests.simulation.cluster.cluster_faults import RETRY_MS, ClusterFaults
from tests.simulation.cluster.cluster_network import NEVER_MS, FrameFault
from tests.simulation.cluster.cluster_script import ClusterSetup, rounded
from tests.simulation.cluster.counted_zookeeper import TOPIC
from tests.simulation.cluster.simulated_node import SESSION_TIMEOUT_MS, SimulatedNode

BEGIN_MS: Final = 700.0
FAULTY_MS: Final = 3_700.0
_BETWEEN_SENDS_MS: Final = 60.0
_MOST_TRIGGERED: Final = 6
_MOST_RETRIES: Final = 12
_SHORT_MS: Final = (5.0, 200.0)
_LONG_MS: Final = (200.0, 1_300.0)
#: LeaderAndIsr, StopReplica, UpdateMetadata and AlterPartition.
_CONTROL: Final = frozenset({4, 5, 6, 56})


class ClusterPlan:
    """Draws the steps of one seed."""

    def __init__(self, faults: ClusterFaults, setup: ClusterSetup, hosts: Sequence[str]) -> None:
        self._faults = faults
        self._world = faults.world
        self._setup = setup
        self._hosts = hosts
        self._random = random = Random(f"faults of {setup.seed}")
        #: The time at which all pauses and cuts have ended.
        self._sound_ms = 0.0
        self._triggered = 0
        self._triggers = {each: random.choice((0.0, 0.3, 0.7)) for each in _TRIGGERS}
        self._lost = random.choice((0.0, 0.004, 0.012))
        self._late = random.choice((0.0, 0.01, 0.04))
        self._control = random.choice((1.0, 4.0, 12.0))

    def begin(self) -> None:
        """Plan the faults that come at random times, and the operations of clients."""
        random, plan = self._random, self._world.plan
        at_ms = BEGIN_MS
        while at_ms < FAULTY_MS + 200:
            at_ms += random.expovariate(1 / _BETWEEN_SENDS_MS)
            plan(at_ms, self._send)
        kinds = [*self._makers()]
        weights = [random.choice((0, 0, 1, 1, 3)) for _ in kinds]
        weights[0] += not any(weights)
        for kind in random.choices(kinds, weights, k=random.randint(3, 9)):
            self._plan(random.uniform(BEGIN_MS + 50, FAULTY_MS), kind)

    def _makers(self) -> Mapping[str, Callable[[SimulatedNode | None], bool]]:
        """Return the faults by kind; each returns False if it is not possible now."""
        return {
            "kill": self._kill,
            "crash": lambda node: self._crash("crash", node),
            "lose": lambda node: self._crash("lose", node),
            "pause": self._pause,
            "part": self._part,
            "isolate": self._isolate,
            "cut": self._cut,
            "expire": self._expire,
            "break": self._break,
            "stop": self._stop,
            "zookeeper": self._stop_zookeeper,
        }

    def on_event(self, event: str, node_id: int) -> None:
        """Let a fault follow an event of the cluster."""
        random, world = self._random, self._world
        if not world.is_faulty or self._triggered >= _MOST_TRIGGERED:
            return
        if random.random() < self._triggers[event]:
            self._triggered += 1
            kind = random.choice(("kill", "kill", "pause", "expire", "isolate", "cut", "crash"))
            node = self._faults.nodes.get(f"n{node_id}")
            at_ms = world.now_ms + random.choice((1.0, 6.0, 25.0)) * random.expovariate(1)
            self._plan(max(at_ms, world.now_ms + 0.01), kind, node)

    def frame_fault(self, name: str, api_key: int) -> FrameFault | None:
        """Draw the fault of a frame."""
        random = self._random
        drawn = random.random()
        if not self._world.is_faulty:
            return None
        factor = self._control if api_key in _CONTROL else 1.0
        if drawn < self._lost * factor:
            late_ms = random.choice((NEVER_MS, random.uniform(1, 10), random.uniform(10, 900)))
            fault = FrameFault(is_lost=True, late_ms=rounded(late_ms))
        elif drawn < (self._lost + self._late) * factor:
            fault = FrameFault(is_lost=False, late_ms=rounded(self._drawn_ms(1.0)))
        else:
            return None
        self._faults.note_frame(name, fault)
        return fault

    def ended(self, node: SimulatedNode) -> None:
        """Start a node again whose process has ended by itself."""
        if self._world.is_faulty:
            self._start_later(node)

    # -- times

    def _drawn_ms(self, long_share: float = 0.5) -> float:
        random = self._random
        return random.uniform(*(_LONG_MS if random.random() < 0.5 * long_share else _SHORT_MS))

    def _after(self, delay_ms: float, kind: str, *arguments: str) -> None:
        def call() -> None:
            if self._world.is_faulty:
                self._faults.do(kind, *arguments)

        self._world.plan(self._world.now_ms + delay_ms, call)

    def _plan(
        self, at_ms: float, kind: str, node: SimulatedNode | None = None, *, tries: int = 0
    ) -> None:
        """Plan a fault shortly after some records; an impossible one is tried again."""
        random, world = self._random, self._world
        if tries == 0:
            producer = random.randrange(len(self._setup.producers))
            for _ in range(random.choice((0, 1, 2, 4))):
                world.plan(at_ms - random.uniform(0, 12), partial(self._send, producer))

        def call() -> None:
            if not world.is_faulty:
                return
            if not self._makers()[kind](node) and tries < _MOST_RETRIES:
                self._plan(world.now_ms + RETRY_MS, kind, node, tries=tries + 1)

        world.plan(at_ms, call)

    # -- clients

    def _send(self, producer: int | None = None) -> None:
        random, setup = self._random, self._setup
        number = random.randrange(len(setup.producers)) if producer is None else producer
        partition = random.randrange(setup.partitions)
        self._faults.do("send", f"p{number}", str(partition), str(random.randint(1, 2)))

    # -- nodes

    def _a_node(self, node: SimulatedNode | None) -> SimulatedNode | None:
        """Return the node if it runs, or draw one; mostly one that leads, or is the controller."""
        random, nodes = self._random, self._faults.nodes.values()
        running = [each for each in nodes if each.broker is not None and not each.is_stopping]
        if node is not None:
            return node if node in running else None
        leading = [each for each in running if _is_leading(each)]
        if leading and random.random() < 0.6:
            return random.choice(leading)
        return random.choice(running) if running else None

    def _late_ms(self) -> str:
        """Draw when the last requests of a node arrive that ends."""
        random = self._random
        return str(rounded(self._drawn_ms()) if random.random() < 0.4 else NEVER_MS)

    def _kill(self, node: SimulatedNode | None) -> bool:
        node = self._a_node(node)
        if node is None or self._faults.lossy:
            return False
        self._faults.do("kill", node.name, self._late_ms())
        self._start_later(node)
        return True

    def _crash(self, kind: str, node: SimulatedNode | None) -> bool:
        node = self._a_node(node)
        if node is None or not self._may_lose(node):
            return False
        self._faults.do(kind, node.name, self._late_ms())
        self._start_later(node)
        return True

    def _may_lose(self, node: SimulatedNode) -> bool:
        """Return whether another in-sync replica has the records of each partition.

        A leader whose proposal is under way may be the only one that is in sync soon.
        """
        faults = self._faults
        assert node.broker is not None, "it runs"
        if faults.keeps_disks or not faults.zookeeper.is_up or self._world.now_ms < self._sound_ms:
            return False
        if any(each.broker is None or each.is_stopping for each in faults.nodes.values()):
            return False
        for each in node.broker.partitions:
            if isinstance(each.role, Leader) and each.role.pending is not None:
                return False
        for number in range(faults.partitions):
            leadership = faults.zookeeper.leadership(number)
            if leadership is None or not {*leadership.isr} - {node.node_id}:
                return False
        return True

    def _start_later(self, node: SimulatedNode) -> None:
        self._after(self._drawn_ms(), "start", node.name)

    def _stop(self, node: SimulatedNode | None) -> bool:
        node = self._a_node(node)
        if node is None or self._faults.lossy:
            return False
        self._faults.do("stop", node.name)
        return True

    def _pause(self, node: SimulatedNode | None) -> bool:
        node = self._a_node(node)
        if node is None or node.process is None or node.process.is_paused or self._faults.lossy:
            return False
        self._faults.do("pause", node.name)
        self._after(self._disturbed_ms(), "resume", node.name)
        return True

    def _disturbed_ms(self) -> float:
        """Draw the time for which a session is in danger."""
        duration_ms = self._drawn_ms()
        self._sound_ms = max(self._sound_ms, self._world.now_ms + duration_ms + SESSION_TIMEOUT_MS)
        return duration_ms

    # -- connections

    def _part(self, node: SimulatedNode | None) -> bool:
        one, other = self._random.sample(self._hosts, 2)
        return self._part_from(one, [other])

    def _isolate(self, node: SimulatedNode | None) -> bool:
        """Leave a node its session, and clients, but no other node."""
        node = self._a_node(node)
        if node is None:
            return False
        return self._part_from(
            node.name, [each for each in self._faults.nodes if each != node.name]
        )

    def _part_from(self, one: str, others: Sequence[str]) -> bool:
        duration_ms = self._drawn_ms(1.5)
        for other in others:
            self._faults.do("part", one, other)
            self._after(duration_ms + self._random.uniform(0, 50), "heal", one, other)
        return True

    def _cut(self, node: SimulatedNode | None) -> bool:
        node = self._a_node(node)
        if node is None or self._faults.lossy:
            return False
        self._faults.do("cut", node.name, str(self._random.randint(0, 2)))
        self._after(self._disturbed_ms(), "join", node.name)
        return True

    def _expire(self, node: SimulatedNode | None) -> bool:
        node = self._a_node(node)
        if node is None or self._faults.lossy:
            return False
        self._sound_ms = max(self._sound_ms, self._world.now_ms + SESSION_TIMEOUT_MS)
        self._faults.do("expire", node.name)
        return True

    def _break(self, node: SimulatedNode | None) -> bool:
        node = self._a_node(node)
        if node is None:
            return False
        self._faults.do("break", node.name, str(self._random.randint(0, 2)))
        return True

    def _stop_zookeeper(self, node: SimulatedNode | None) -> bool:
        if not self._faults.zookeeper.is_up or self._faults.lossy:
            return False
        self._faults.do("zookeeper-stop")
        self._after(self._disturbed_ms(), "zookeeper-start")
        return True


_TRIGGERS: Final = (
    "leaders elected",
    "in-sync sets expanded",
    "in-sync sets shrunk",
    "controllers elected",
)


def _is_leading(node: SimulatedNode) -> bool:
    broker = node.broker
    assert broker is not None, "it runs"
    assert isinstance(broker.controller, ActiveController), "it is in a cluster"
    return broker.controller.is_active or any(
        isinstance(each.role, Leader) and each.name.topic == TOPIC for each in broker.partitions
    )
