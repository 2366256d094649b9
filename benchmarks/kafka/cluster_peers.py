"""Two clusters as processes on this machine, each with a ZooKeeper and three brokers.

Kafka 3.9 is the last one with ZooKeeper; it runs as its own scripts run it. Both clusters have the
same settings, and their defaults for the rest. A ZooKeeper does not sync its log: the disk of a
busy machine would delay both clusters by chance.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import Final

import cordwood
from benchmarks.kafka.peers import AS_ITS_SCRIPTS, OURS, PATIENCE_S, Peer
from cordwood.core.errors import CordwoodError
from cordwood.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
)
from tests.interop.kafka_harness.brokers import free_port
from tests.interop.kafka_harness.jars import Jars, fetch
from tests.interop.kafka_harness.wire import Connection
from tests.interop.kafka_harness.zookeepers import RunningZooKeeper, running_zookeeper
from tests.serving import CORDWOOD

KAFKA: Final = "Kafka 3.9"
BROKERS: Final = (1, 2, 3)
_SETTINGS: Final = """auto.create.topics.enable=false
min.insync.replicas=2
offsets.topic.replication.factor=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
zookeeper.session.timeout.ms=6000
zookeeper.connection.timeout.ms=60000
"""
_LOOK_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class Cluster:
    """Three brokers of one kind; the first one that starts is the controller."""

    name: str
    zookeeper: RunningZooKeeper
    brokers: Sequence[Peer]

    @property
    def bootstrap(self) -> str:
        return ",".join(each.bootstrap for each in self.brokers)

    def start(self) -> None:
        """Start all brokers; return when each has the others in its metadata."""
        for broker in self.brokers:
            broker.start()
        for broker in self.brokers:
            until(partial(_knows, broker, len(self.brokers)))

    def end(self) -> None:
        """Kill all brokers."""
        for broker in self.brokers:
            broker.end(is_killed=True)

    def processor_seconds(self) -> float:
        """Return what the brokers have used so far, without ZooKeeper."""
        return sum(each.processor_seconds() for each in self.brokers)

    def create(self, topic: str, assignments: Sequence[Sequence[int]]) -> None:
        """Create a topic; return when all replicas are in sync for all brokers."""
        with cordwood.Admin(self.bootstrap) as admin:
            admin.create_topic(topic, assignments=dict(enumerate(assignments)))
        self.wait_for_replicas(topic, len(assignments))

    def delete(self, topic: str) -> None:
        """Delete a topic; its files are removed a minute later."""
        with cordwood.Admin(self.bootstrap) as admin:
            admin.delete_topic(topic)

    def wait_for_replicas(self, topic: str, partitions: int) -> None:
        """Wait until every broker has every replica of the partitions in sync."""
        for broker in self.brokers:
            until(partial(_has_in_sync, broker, topic, partitions))

    def elect_preferred(self, topic: str, leader: int) -> None:
        """Let the first replica of each partition lead again."""
        with cordwood.Admin(self.bootstrap) as admin:
            admin.elect_leaders()
        for broker in self.brokers:
            until(partial(_has_leader, broker, topic, leader))


def until(is_so: Callable[[], bool]) -> None:
    """Look until something is so. A broker that has just started is not always able to answer."""
    end_s, pause = perf_counter() + PATIENCE_S, Event()
    while True:
        try:
            if is_so():
                return
        except (CordwoodError, OSError):
            pass
        if perf_counter() > end_s:
            raise TimeoutError
        pause.wait(_LOOK_S)


def metadata(broker: Peer, *topics: str) -> MetadataResponse:
    """Return the metadata that a broker has of topics."""
    wanted = [MetadataRequestTopic(name=each) for each in topics]
    with Connection(broker.bootstrap) as connection:
        return connection.ask(MetadataRequest(topics=wanted), 1, answer=MetadataResponse)


def partitions(broker: Peer, topic: str) -> Sequence[MetadataResponsePartition]:
    """Return the partitions of a topic in the metadata of a broker."""
    (found,) = metadata(broker, topic).topics
    return found.partitions


def leaders(broker: Peer, topic: str) -> set[int]:
    """Return the leaders of a topic's partitions in the metadata of a broker."""
    return {each.leader_id for each in partitions(broker, topic)}


def leads(broker: Peer, topic: str, leader: int) -> bool:
    """Return whether a broker leads a partition, by the metadata of another one."""
    return leader in leaders(broker, topic)


def _knows(broker: Peer, brokers: int) -> bool:
    return len(metadata(broker).brokers) == brokers


def _has_leader(broker: Peer, topic: str, leader: int) -> bool:
    return leaders(broker, topic) == {leader}


def _has_in_sync(broker: Peer, topic: str, number: int) -> bool:
    """Return whether this number of partitions has all replicas in sync."""
    in_sync = [len(each.isr_nodes) == len(BROKERS) for each in partitions(broker, topic)]
    return sum(in_sync) == number


@contextmanager
def both_clusters(folder: Path) -> Iterator[tuple[Cluster, Cluster]]:
    """Yield ours and Kafka's, which run."""
    jars = fetch("kafka-3.9.1")
    with ExitStack() as stack:
        clusters = []
        for name, command in ((OURS, _our_command), (KAFKA, _kafka_command(jars))):
            own = folder / name.replace(" ", "-")
            own.mkdir()
            zookeeper = stack.enter_context(running_zookeeper(jars, own))
            brokers = [_broker(own / str(each), zookeeper, each, command) for each in BROKERS]
            cluster = Cluster(name, zookeeper, brokers)
            stack.callback(cluster.end)
            cluster.start()
            clusters.append(cluster)
        ours, kafka = clusters
        yield ours, kafka


def _our_command(settings: Path) -> list[str]:
    return [*CORDWOOD, "serve", str(settings)]


def _kafka_command(jars: Jars) -> Callable[[Path], list[str]]:
    start = ["java", *AS_ITS_SCRIPTS, "-cp", jars.class_path, "kafka.Kafka"]
    return lambda settings: [*start, str(settings)]


def _broker(
    folder: Path,
    zookeeper: RunningZooKeeper,
    number: int,
    command: Callable[[Path], list[str]],
) -> Peer:
    folder.mkdir()
    port, settings = free_port(), folder / "server.properties"
    settings.write_text(
        f"""broker.id={number}
listeners=PLAINTEXT://127.0.0.1:{port}
zookeeper.connect={zookeeper.address}
log.dirs={folder / "logs"}
{_SETTINGS}"""
    )
    return Peer(f"{number}", command(settings), port, folder)
