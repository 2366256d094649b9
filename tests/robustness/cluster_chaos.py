"""Brokers and ZooKeeper as processes that are killed and paused under load.

    kill              a broker ends without a chance to do anything, and starts again
    pause             a broker stops for less than a session, as on a busy machine
    absence           a broker stops for longer than its session, and returns as one that was fenced
    ZooKeeper pause   ZooKeeper stops for less than a session; no broker may lose its role

One fault is under way at a time. Before the next one all replicas are in sync, or some acknowledged
records have passed: then the fault meets a cluster that is still catching up.
"""

import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from time import perf_counter
from types import MappingProxyType
from typing import Final

import cordwood
from cordwood.client.admin.admin_types import PartitionDescription
from cordwood.core.errors import CordwoodError
from tests.interop.kafka_harness.jars import fetch
from tests.interop.kafka_harness.zookeepers import RunningZooKeeper, running_zookeeper
from tests.robustness.ledger import Ledgers
from tests.serving import CORDWOOD, Serving, ended_with

SESSION_S: Final = 4.0
PATIENCE_S: Final = 120
PARTITIONS: Final = 4
KINDS: Final = ("kill", "pause", "absence", "ZooKeeper pause")
SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "auto.create.topics.enable": "false",
        "default.replication.factor": "3",
        "min.insync.replicas": "2",
        "offsets.topic.num.partitions": "2",
        "offsets.topic.replication.factor": "3",
        "transaction.state.log.num.partitions": "2",
        "transaction.state.log.replication.factor": "3",
        "group.initial.rebalance.delay.ms": "0",
        "replica.lag.time.max.ms": "3000",
        "replica.fetch.backoff.ms": "200",
        "zookeeper.session.timeout.ms": str(int(SESSION_S * 1000)),
        "zookeeper.connection.timeout.ms": "60000",
    }
)


class ClusterProcesses:
    """ZooKeeper and three brokers."""

    def __init__(self, zookeeper: RunningZooKeeper, brokers: Sequence[Serving]) -> None:
        self.zookeeper = zookeeper
        self.brokers = tuple(brokers)

    @property
    def bootstrap(self) -> str:
        return ",".join(each.address for each in self.brokers)

    def wait_until_registered(self, brokers: int | None = None) -> None:
        """Wait until the controller knows every broker, which can be after they serve.

        Or until it knows this number of them.
        """
        wanted = len(self.brokers) if brokers is None else brokers
        with cordwood.Admin(self.bootstrap) as admin:
            self.wait_until(lambda: len(admin.describe_cluster().brokers) == wanted)

    def create_topic(self, name: str, partitions: int = PARTITIONS) -> None:
        with cordwood.Admin(self.bootstrap) as admin:
            admin.create_topic(name, partitions=partitions)

    def topics(self) -> set[str]:
        """Return the names of all topics."""
        with cordwood.Admin(self.bootstrap) as admin:
            return {*admin.list_topics(with_internal=True)}

    def wait_until_in_sync(self, topic: str) -> None:
        """Wait until every partition has a leader, and all replicas are in sync."""
        self.wait_until(lambda: not self.not_in_sync(topic))

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so; the error has the last lines that the brokers logged."""
        until_s, pause = perf_counter() + PATIENCE_S, Event()
        while not is_so():
            assert perf_counter() < until_s, self.words()
            pause.wait(0.05)

    def not_in_sync(self, topic: str) -> list[int]:
        """Return the partitions that lack a leader or an in-sync replica."""
        return [
            each.partition
            for each in self._partitions(topic)
            if each.leader < 0 or len(each.in_sync) < len(self.brokers)
        ]

    def leaders(self, topic: str) -> dict[int, int]:
        """Return the leaders that a broker names."""
        return {each.partition: each.leader for each in self._partitions(topic)}

    def _partitions(self, topic: str) -> Sequence[PartitionDescription]:
        """Return the partitions, as soon as a broker describes them.

        A broker has no topics yet when it serves its first requests, as in Kafka.
        """
        until_s, pause = perf_counter() + PATIENCE_S, Event()
        while True:
            try:
                with cordwood.Admin(self.bootstrap, default_api_timeout_ms=2_000) as admin:
                    (described,) = admin.describe_topics([topic])
            except CordwoodError:
                assert perf_counter() < until_s, self.words()
                pause.wait(0.05)
            else:
                return described.partitions

    def words(self) -> str:
        """Return the last lines that the brokers logged."""
        return "\n".join(each.words.read_text()[-3000:] for each in self.brokers)


@contextmanager
def cluster(folder: Path, settings: Mapping[str, str] = SETTINGS) -> Iterator[ClusterProcesses]:
    """Run ZooKeeper and three brokers; leave no process behind."""
    with ExitStack() as stack:
        zookeeper = stack.enter_context(running_zookeeper(fetch("kafka-3.9.1"), folder))
        brokers = []
        for number in (1, 2, 3):
            own = folder / f"broker-{number}"
            own.mkdir()
            of_broker = {
                **settings,
                "zookeeper.connect": zookeeper.address,
                "node.id": str(number),
            }
            broker = stack.enter_context(ended_with(Serving(own, of_broker, program=CORDWOOD)))
            broker.start()
            brokers.append(broker)
        processes = ClusterProcesses(zookeeper, brokers)
        processes.wait_until_registered()
        yield processes


class ClusterChaos:
    """Faults in random order, each kind equally often."""

    def __init__(self, processes: ClusterProcesses, topic: str, chance: random.Random) -> None:
        self._processes = processes
        self._topic = topic
        self._chance = chance
        self.injected = Counter[str]()
        #: The times until another broker led the partitions of a killed one.
        self.elections_s = list[float]()

    def survive(self, ledgers: Ledgers, rounds: int) -> None:
        """Inject faults while records are produced."""
        kinds = [KINDS[number % len(KINDS)] for number in range(rounds)]
        self._chance.shuffle(kinds)
        for kind in kinds:
            self._progress(ledgers)
            self._inject(kind, ledgers)
            self.injected[kind] += 1
            if self._chance.random() < 0.5:
                self._processes.wait_until_in_sync(self._topic)
        self._processes.wait_until_in_sync(self._topic)

    def _inject(self, kind: str, ledgers: Ledgers) -> None:
        broker = self._chance.choice(self._processes.brokers)
        if kind == "kill":
            self._kill(broker, ledgers)
        elif kind == "pause":
            _pause(broker.process.pid, self._chance.uniform(0.2, SESSION_S / 2))
        elif kind == "absence":
            _pause(broker.process.pid, SESSION_S * 1.5)
            self._progress(ledgers)
        else:
            server = self._processes.zookeeper.server.process
            assert server is not None, "it runs as long as the brokers"
            _pause(server.pid, self._chance.uniform(0.2, SESSION_S / 2))

    def _kill(self, broker: Serving, ledgers: Ledgers) -> None:
        number = self._processes.brokers.index(broker) + 1
        led = [each for each, leader in self._leaders().items() if leader == number]
        began_s = perf_counter()
        broker.kill()
        self._processes.wait_until(
            lambda: all(self._leaders().get(each, number) != number for each in led)
        )
        if led:
            self.elections_s.append(perf_counter() - began_s)
        self._progress(ledgers)
        broker.start()

    def _leaders(self) -> dict[int, int]:
        return self._processes.leaders(self._topic)

    def _progress(self, ledgers: Ledgers) -> None:
        """Wait until more records are acknowledged."""
        more = ledgers.acknowledged + self._chance.randint(50, 1_000)
        assert ledgers.wait_for(more, PATIENCE_S), self._processes.words()

    def __str__(self) -> str:
        slowest = max(self.elections_s, default=0)
        return (
            f"{dict(self.injected)}; {len(self.elections_s)} elections after a kill, the slowest "
            f"{slowest:.2f} s after it, with a session of {SESSION_S:.0f} s"
        )


def _pause(pid: int, seconds: float) -> None:
    """Stop a process for a time."""
    os.kill(pid, signal.SIGSTOP)
    try:
        Event().wait(seconds)
    finally:
        os.kill(pid, signal.SIGCONT)
