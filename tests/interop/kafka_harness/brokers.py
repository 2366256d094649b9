"""Real brokers in a folder of their own, on free loopback ports, ended by their process alone.

Kafka 4.3.0 keeps its own metadata (KRaft); Kafka 3.9.1 with ZooKeeper is the last that writes v0
and v1 logs. Readiness is the first answer to Kafka's admin client, which waits for it.
"""

import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from cordwood.core.system import SystemRandom
from cordwood.core.uuids import format_uuid, make_uuid
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.spec import Json

COMMON: Final = """
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
log.message.timestamp.before.max.ms=9223372036854775807
log.message.timestamp.after.max.ms=9223372036854775807
log.retention.ms=-1
log.cleaner.enable=false
"""
#: After a kill the broker does not wait long for its former self to be given up, and knows where
#: its logs start.
FAST_RESTART: Final = """
broker.session.timeout.ms=1000
broker.heartbeat.interval.ms=200
log.flush.start.offset.checkpoint.interval.ms=100
log.initial.task.delay.ms=100
"""


NEWEST_FEATURES: Final[Mapping[str, int]] = MappingProxyType({})


def free_port() -> int:
    """Return a loopback port that is free at present."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(slots=True)
class Server:
    """One Java process whose words go to a file."""

    name: str
    command: list[str]
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as words:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=words, stderr=words
            )

    def stop(self) -> None:
        """End it as an operator would, and by force when it does not heed."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(PATIENCE_S)
        self.process = None

    def kill(self) -> None:
        """Kill the process, as a power loss would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE_S)
        self.process = None


@dataclass(slots=True, kw_only=True)
class Broker:
    """One broker, with what it needs to run, and Kafka's own clients of the same version."""

    bootstrap: str
    logs: Path
    servers: list[Server]
    oracle: Oracle
    topics: set[str] = field(default_factory=set)

    def start(self) -> None:
        for server in self.servers:
            server.start()
        try:
            self.oracle.wait_for_broker(self.bootstrap)
        except Exception as error:
            error.add_note(self.servers[-1].log.read_text()[-3000:])
            raise

    def stop(self) -> None:
        for server in reversed(self.servers):
            server.stop()

    def kill(self) -> None:
        for server in reversed(self.servers):
            server.kill()

    def create_topics(self, topics: dict[str, dict[str, str]]) -> None:
        self.oracle.create_topics(self.bootstrap, topics)

    def partition(self, topic: str) -> Path:
        """The folder of a topic's one partition."""
        return self.logs / f"{topic}-0"

    def segment(self, topic: str) -> bytes:
        """The bytes of all segments of a topic's one partition, oldest first."""
        files = sorted(self.partition(topic).glob("*.log"))
        return b"".join(file.read_bytes() for file in files)

    def place_segment(self, topic: str, data: bytes) -> None:
        """Put bytes in the place of a topic's log while the broker is down."""
        folder = self.partition(topic)
        for file in folder.glob("0000*"):
            file.unlink()
        (folder / f"{0:020}.log").write_bytes(data)


@contextmanager
def running(broker: Broker) -> Iterator[Broker]:
    """The broker, up for as long as the block lasts."""
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


def kraft_broker(
    jars: Jars,
    folder: Path,
    oracle: Oracle,
    more: str = "",
    *,
    features: Mapping[str, int] = NEWEST_FEATURES,
) -> Broker:
    """Kafka 4.3.0 as broker and controller in one process, formatted and not yet started.

    `more` are lines for its settings, `features` levels below the newest ones.
    """
    port, settings = formatted(jars, folder, f"{COMMON}{more}", features=features)
    command = jars.command("kafka.Kafka", str(settings), heap="512m")
    return Broker(
        bootstrap=f"127.0.0.1:{port}",
        logs=folder / "logs",
        servers=[Server("kafka", command, folder / "kafka.txt")],
        oracle=oracle,
    )


def formatted(
    jars: Jars, folder: Path, more: str, *, features: Mapping[str, int] = NEWEST_FEATURES
) -> tuple[int, Path]:
    """Format `logs` in a folder for Kafka 4; return the port, and the settings to start it with."""
    port, controller = free_port(), free_port()
    settings = folder / "server.properties"
    settings.write_text(
        f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
log.dirs={folder / "logs"}
{more}"""
    )
    cluster_id = format_uuid(make_uuid(SystemRandom()))
    levels = (word for each in features.items() for word in ("--feature", "{}={}".format(*each)))
    arguments = ("format", "-t", cluster_id, "-c", str(settings), *levels)
    subprocess.run(
        jars.command("kafka.tools.StorageTool", *arguments),
        check=True,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    return port, settings


def zookeeper_broker(jars: Jars, folder: Path, oracle: Oracle, format_version: str) -> Broker:
    """Kafka 3.9.1 with its ZooKeeper, writing logs in the format of `format_version`."""
    port, keeper = free_port(), free_port()
    zoo = folder / "zoo.cfg"
    zoo.write_text(
        f"dataDir={folder / 'zookeeper'}\nclientPort={keeper}\nclientPortAddress=127.0.0.1\n"
        "admin.enableServer=false\ntickTime=500\n"
    )
    settings = folder / "server.properties"
    settings.write_text(
        f"""broker.id=1
listeners=PLAINTEXT://127.0.0.1:{port}
zookeeper.connect=127.0.0.1:{keeper}
inter.broker.protocol.version=2.8
log.message.format.version={format_version}
log.dirs={folder / "logs"}
{COMMON}"""
    )
    main = "org.apache.zookeeper.server.ZooKeeperServerMain"
    return Broker(
        bootstrap=f"127.0.0.1:{port}",
        logs=folder / "logs",
        servers=[
            Server("zookeeper", jars.command(main, str(zoo)), folder / "zookeeper.txt"),
            Server(
                "kafka",
                jars.command("kafka.Kafka", str(settings), heap="512m"),
                folder / "kafka.txt",
            ),
        ],
        oracle=oracle,
    )


def producer_settings(
    codec: str, *, is_idempotent: bool = False, transactional_id: str | None = None
) -> dict[str, Json]:
    """Settings of Kafka's producer that make full batches of one codec."""
    settings: dict[str, Json] = {
        "compression.type": codec,
        "linger.ms": 50,
        "batch.size": 1 << 16,
        "enable.idempotence": is_idempotent or transactional_id is not None,
        "acks": "all",
    }
    if transactional_id is not None:
        settings["transactional.id"] = transactional_id
    return settings
