"""How fast is our broker under the load of Kafka's clients, next to Kafka 4.3 on the same machine?

    make bench-kafka          or: python -m benchmarks.kafka.load [--full] [--rounds N] [ROW...]

Rows: Kafka's ProducerPerformance (acks=all, idempotent, one partition), 100 bytes with linger 5 and
batches of 64 KB, 1 KB with batches of 128 KB. 16 producers with linger 0. Kafka's
ConsumerPerformance over these records, a member of a new group each time; the time until it has its
partition does not count. Kafka's EndToEndLatency with 1 KB. Rounds are taken in turns; the best of
each side counts. The processor time is the broker's alone. `--full` takes 3 M and 600 k records
where a third serves. A ROW (100B, 1KB, many, echo) is measured alone; without one all are, and
memory. The rounds are printed on the standard error.
"""

import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import cordwood
from benchmarks.figure import Bound, Figure
from benchmarks.kafka.peers import (
    OURS,
    PATIENCE_S,
    ROUNDS,
    Peer,
    asked,
    beside,
    both,
    in_turns,
    tool,
)
from benchmarks.results import keep
from tests.interop.kafka_harness.jars import Jars, fetch

JAVA: Final = str(Path(__file__).parent / "Load.java")
PRODUCERS: Final = 16
_TOOLS: Final = "org.apache.kafka.tools"
_RATE: Final = re.compile(r"([\d.]+) records/sec")
#: The columns of ConsumerPerformance.
_CONSUMED: Final = (
    "start.time", "end.time", "data.consumed.in.MB", "MB.sec", "data.consumed.in.nMsg", "nMsg.sec",
    "rebalance.time.ms", "fetch.time.ms", "fetch.MB.sec", "fetch.nMsg.sec",
)  # fmt: skip
_LATENCY: Final = re.compile(r"Avg latency: ([\d.]+) ms.*99th = (\d+)", re.DOTALL)


class Size(NamedTuple):
    """How many records of each kind a round takes."""

    small: int
    large: int
    many: int
    echoes: int


SMALL: Final = Size(1_000_000, 200_000, 200_000, 2_000)
FULL: Final = Size(3_000_000, 600_000, 600_000, 5_000)


class Load(NamedTuple):
    """One kind of load: how many records, of what size, and in what batches."""

    name: str
    records: int
    record_bytes: int
    batch_bytes: int


class _Bench(NamedTuple):
    """Both brokers, and how often each is loaded."""

    jars: Jars
    peers: Sequence[Peer]
    rounds: int

    def create(self, topic: str) -> None:
        for peer in self.peers:
            with cordwood.Admin(peer.bootstrap) as admin:
                admin.create_topic(topic, partitions=1, replication_factor=1)

    def rounds_of(self, measure: Callable[[Peer], Sequence[float]]) -> list[list[list[float]]]:
        """Return each peer's values, round by round, and print each."""

        def told(peer: Peer) -> Sequence[float]:
            values = measure(peer)
            words = " ".join(f"{value:,.2f}" for value in values)
            print(f"  {measure.__name__}, {peer.name}: {words}", file=sys.stderr, flush=True)
            return values

        return in_turns(self.peers, self.rounds, told)


def figures(
    size: Size = SMALL, rounds: int = ROUNDS, rows: Sequence[str] | None = None
) -> list[Figure]:
    """Measure both brokers, which run side by side and are loaded in turns."""
    jars = fetch("kafka-4.3.0")
    with tempfile.TemporaryDirectory() as folder, both(jars, Path(folder)) as peers:
        for peer in peers:
            peer.start()
        idle = peers[0].resident_mib()
        bench = _Bench(jars, peers, rounds)
        found = [each for row in rows or ROWS for each in ROWS[row](bench, size)]
        loaded = [peer.resident_mib() for peer in peers]
    if rows:
        return found
    return [
        *found,
        Figure(name=f"memory when idle, {OURS}", value=idle, unit="MiB", goal=50, bound=Bound.MOST),
        beside("memory under load", "MiB", loaded, at_most=200),
    ]


def produce_rate(jars: Jars, load: Load, *, topic: str, bootstrap: str) -> float:
    """Return the records a second of Kafka's ProducerPerformance, with acks=all."""
    said = tool(
        jars, f"{_TOOLS}.ProducerPerformance", "--topic", topic,
        "--num-records", str(load.records), "--record-size", str(load.record_bytes),
        "--throughput", "-1", "--bootstrap-server", bootstrap,
        "--command-property", "acks=all", "linger.ms=5", f"batch.size={load.batch_bytes}",
    )  # fmt: skip
    return float(_RATE.findall(said)[-1])


def _produced(bench: _Bench, load: Load) -> list[Figure]:
    topic = f"perf-{load.record_bytes}"
    bench.create(topic)

    def produce(peer: Peer) -> tuple[float, float]:
        before = peer.processor_seconds()
        rate = produce_rate(bench.jars, load, topic=topic, bootstrap=peer.bootstrap)
        used = peer.processor_seconds_since(before)
        return rate, used / load.records * 1e6

    def consume(peer: Peer) -> tuple[float, float]:
        before = peer.processor_seconds()
        rate = _consumed(
            tool(
                bench.jars, f"{_TOOLS}.ConsumerPerformance", "--topic", topic,
                "--num-records", str(load.records), "--bootstrap-server", peer.bootstrap,
                "--timeout", str(PATIENCE_S * 1_000),
            ),
            load.records,
        )  # fmt: skip
        return rate, peer.processor_seconds_since(before) / load.records * 1e6

    name, produced = f"produce, {load.name}", bench.rounds_of(produce)
    return [
        _rate(name, produced),
        _processor(name, produced, goal=1 / 0.7),
        _rate(f"consume, {load.name}", bench.rounds_of(consume)),
    ]


def _consumed(said: str, records: int) -> float:
    """Return the records a second while ConsumerPerformance fetched, from its table."""
    *_, values = said.splitlines()
    found = dict(zip(_CONSUMED, values.split(", "), strict=True))
    if int(found["data.consumed.in.nMsg"]) < records:
        raise RuntimeError(said)
    return float(found["fetch.nMsg.sec"])


def _from_many(bench: _Bench, records: int) -> list[Figure]:
    bench.create("many")

    def produce(peer: Peer) -> tuple[float, float]:
        before = peer.processor_seconds()
        words = (peer.bootstrap, "many", str(records), str(PRODUCERS))
        rate = float(tool(bench.jars, JAVA, *words))
        return rate, peer.processor_seconds_since(before) / records * 1e6

    name, runs = f"produce, 100 B, {PRODUCERS} producers, linger 0", bench.rounds_of(produce)
    return [_rate(name, runs), _processor(name, runs)]


def _rate(name: str, runs: list[list[list[float]]]) -> Figure:
    """Return the best rates, the first value of each round."""
    rates = [max(each[0] for each in of_peer) for of_peer in runs]
    return beside(name, "records/s", rates, is_rate=True, goal=1)


def _processor(name: str, runs: list[list[list[float]]], *, goal: float | None = None) -> Figure:
    """Return the least broker time per million records, the second value of each round."""
    used = [min(each[1] for each in of_peer) for of_peer in runs]
    return beside(f"{name}, processor", "s a million records", used, goal=goal)


def _echoed(bench: _Bench, records: int) -> list[Figure]:
    bench.create("echo")

    def echo(peer: Peer) -> tuple[float, float]:
        words = (peer.bootstrap, "echo", str(records), "all", "1024")
        found = _LATENCY.search(tool(bench.jars, f"{_TOOLS}.EndToEndLatency", *words))
        assert found is not None, "the tool prints its latencies"
        return float(found[1]), float(found[2])

    runs = bench.rounds_of(echo)
    average, late = ([min(each[which] for each in of_peer) for of_peer in runs] for which in (0, 1))
    return [
        beside("end to end, 1 KB, average", "ms", average, goal=1),
        beside("end to end, 1 KB, 99th percentile", "ms", late, goal=1),
    ]


#: The rows, in the order of a whole run.
ROWS: Final[Mapping[str, Callable[[_Bench, Size], list[Figure]]]] = MappingProxyType(
    {
        "100B": lambda bench, size: _produced(bench, Load("100 B", size.small, 100, 65_536)),
        "1KB": lambda bench, size: _produced(bench, Load("1 KB", size.large, 1000, 131_072)),
        "many": lambda bench, size: _from_many(bench, size.many),
        "echo": lambda bench, size: _echoed(bench, size.echoes),
    }
)


if __name__ == "__main__":
    said = asked("benchmarks.kafka.load", ROWS)
    keep(figures(FULL if said.full else SMALL, said.rounds, said.rows))
