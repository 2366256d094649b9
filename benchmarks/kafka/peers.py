"""Two brokers as processes on this machine, Kafka's and ours, started alike and measured alike.

Kafka 4.3 runs as its own scripts run it: 1 GB of heap, the G1 collector. Both have their defaults
for every topic setting, and one log directory of their own. A broker has started when it first
answers a Metadata request, whose frame is the same for both, with a broker in it.

Each has a session of its own, as a service has. Linux then divides the processors between broker
and client, and not among their threads, of which a client with 16 producers has more than 40.
"""

import argparse
import os
import socket
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import Final

from benchmarks.figure import Bound, Figure
from tests.interop.kafka_harness.brokers import formatted, free_port
from tests.interop.kafka_harness.jars import Jars, fetch
from tests.serving import CORDWOOD

KAFKA: Final = "Kafka 4.3"
OURS: Final = "cordwood"
PATIENCE_S: Final = 120
ROUNDS: Final = 3

AS_ITS_SCRIPTS: Final = (
    "-Xms1g",
    "-Xmx1g",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)
_ALONE: Final = """offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""
# Metadata, version 1, correlation 1, no client id, and then: no topics, or all of them.
_METADATA: Final = struct.pack(">ihhih", 14, 3, 1, 1, -1)
_NO_TOPICS: Final = _METADATA + struct.pack(">i", 0)
_ALL_TOPICS: Final = _METADATA + struct.pack(">i", -1)
#: An installed package has compiled modules; a checkout keeps them after the first start.
_INSTALLED: Final = {"PYTHONDONTWRITEBYTECODE": ""}
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_MIB: Final = 1 << 20


@dataclass(slots=True)
class Peer:
    """One broker, which is stopped, killed and started again at the same place."""

    name: str
    command: list[str]
    port: int
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> float:
        """Return after how many seconds it first answered."""
        start = perf_counter()
        with (self.folder / "words.txt").open("ab") as words:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                env=os.environ | _INSTALLED,
                start_new_session=True,
            )
        while not self._has_answered():
            if self.process.poll() is not None or perf_counter() - start > PATIENCE_S:
                raise TimeoutError(self.words()[-3000:])
            sleep(0.002)
        return perf_counter() - start

    def end(self, *, is_killed: bool = False) -> None:
        """End it as an operator would, or as a lack of power."""
        if self.process is not None:
            self.process.kill() if is_killed else self.process.terminate()
            self.process.wait(PATIENCE_S)
            self.process = None

    def words(self) -> str:
        """Return what it has printed so far, which are its logs too."""
        return (self.folder / "words.txt").read_text()

    def metadata_seconds(self) -> float:
        """Return the time of a Metadata response for all topics, to its last byte."""
        start = perf_counter()
        self.ask(_ALL_TOPICS)
        return perf_counter() - start

    def processor_seconds(self) -> float:
        """Return what the process has used so far."""
        assert self.process is not None, "it runs"
        return processor_seconds(self.process.pid)

    def processor_seconds_since(self, before: float) -> float:
        """Return the processor time used since; less than a tick counts as none."""
        return max(self.processor_seconds() - before, 1 / _TICKS)

    def resident_mib(self) -> float:
        """Return how much memory it has in use now."""
        assert self.process is not None, "it runs"
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / _MIB

    def _has_answered(self) -> bool:
        try:
            (brokers,) = struct.unpack_from(">i", self.ask(_NO_TOPICS), 4)
        except (OSError, EOFError):
            return False
        return int(brokers) > 0

    def ask(self, frame: bytes) -> bytes:
        """Return the response to a frame, without its size."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE_S) as channel:
            channel.sendall(frame)
            with channel.makefile("rb") as answers:
                size = answers.read(4)
                if len(size) < 4:
                    raise EOFError
                return answers.read(int.from_bytes(size))


def processor_seconds(process_id: int) -> float:
    """Return what a process has used so far."""
    after_name = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / _TICKS


@contextmanager
def both(jars: Jars, folder: Path) -> Iterator[tuple[Peer, Peer]]:
    """Yield ours and Kafka's, not yet started; both are ended afterwards."""
    peers = ours(folder / "ours"), kafka(jars, folder / "kafka")
    try:
        yield peers
    finally:
        for peer in peers:
            peer.end(is_killed=True)


def ours(folder: Path) -> Peer:
    """Return our broker with an empty log directory."""
    folder.mkdir()
    port = free_port()
    where = ["--data", str(folder / "logs"), "--listen", f"127.0.0.1:{port}"]
    return Peer(OURS, [*CORDWOOD, "serve", *where], port, folder)


def kafka(jars: Jars, folder: Path) -> Peer:
    """Return Kafka's broker with a log directory that has been formatted."""
    folder.mkdir()
    port, settings = formatted(jars, folder, _ALONE)
    command = ["java", *AS_ITS_SCRIPTS, "-cp", jars.class_path, "kafka.Kafka", str(settings)]
    return Peer(KAFKA, command, port, folder)


@contextmanager
def running_kafka() -> Iterator[tuple[Peer, Path]]:
    """Run Kafka's broker alone; yield it, and a folder that goes with it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        broker = kafka(fetch("kafka-4.3.0"), folder / "kafka")
        try:
            broker.start()
            yield broker, folder
        finally:
            broker.end(is_killed=True)


def tool(jars: Jars, *words: str) -> str:
    """Run one of Kafka's tools, or a Java file of ours, to its end, and return its output."""
    options = ["-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
    command = ["java", *options, "-cp", jars.class_path, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr[-2000:]}")
    return done.stdout


def asked(program: str, rows: Iterable[str]) -> argparse.Namespace:
    """Return the command line of a benchmark with rows: its rows, its size and its rounds."""
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("rows", nargs="*", choices=[[], *rows], metavar="ROW")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    return parser.parse_args()


def in_turns(
    peers: Sequence[Peer], rounds: int, measure: Callable[[Peer], Sequence[float]]
) -> list[list[list[float]]]:
    """Return each peer's values, round by round; the rounds are taken in turns."""
    found: list[list[list[float]]] = [[] for _ in peers]
    for _ in range(rounds):
        for peer, values in zip(peers, found, strict=True):
            values.append(list(measure(peer)))
    return found


def beside(
    name: str,
    unit: str,
    values: Sequence[float],
    *,
    is_rate: bool = False,
    goal: float | None = None,
    at_most: float | None = None,
) -> Figure:
    """Return our figure with Kafka's; a ratio above 1 is always better.

    The goal is of the ratio, `at_most` of the value.
    """
    value, peer_value = values
    return Figure(
        name=name,
        value=value,
        unit=unit,
        peer=KAFKA,
        peer_value=peer_value,
        ratio=value / peer_value if is_rate else peer_value / value,
        goal=goal if at_most is None else at_most,
        bound=Bound.RATIO if at_most is None else Bound.MOST,
    )
