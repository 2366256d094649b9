"""How fast is our broker under the load of Kafka's clients, beside Kafka 4.3 on the same machine?

    make bench-kafka          or: python -m benchmarks.kafka.load [--full]

Producing with Kafka's ProducerPerformance (acks=all, idempotent, one partition), 100 bytes with
linger 5 and batches of 64 KB, 1 KB with batches of 128 KB; 16 producers with linger 0; consuming
what was produced with Kafka's consumer, assigned its partition, for the perf tool wants a group;
Kafka's EndToEndLatency with 1 KB. Rounds are taken in turns; the best of each side counts. The
processor time is the broker's alone. `--full` takes 3 M and 600 k records where a third serves.
"""

import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import cordwood
from benchmarks.figure import Bound, Figure
from benchmarks.kafka.peers import OURS, Peer, beside, both, in_turns, tool
from cordwood.records.kernels import warm
from tests.interop.kafka_harness.jars import Jars, fetch

JAVA: Final = str(Path(__file__).parent / "Load.java")
ROUNDS: Final = 3
PRODUCERS: Final = 16
_TOOLS: Final = "org.apache.kafka.tools"
_RATE: Final = re.compile(r"([\d.]+) records/sec")
_LATENCY: Final = re.compile(r"Avg latency: ([\d.]+) ms.*99th = (\d+)", re.DOTALL)


class Size(NamedTuple):
    """How many records of each kind a round takes."""

    small: int
    large: int
    many: int
    echoes: int


SMALL: Final = Size(1_000_000, 200_000, 200_000, 2_000)
FULL: Final = Size(3_000_000, 600_000, 600_000, 5_000)


class _Load(NamedTuple):
    """One kind of load: how many records, of what size, and in what batches."""

    name: str
    records: int
    record_bytes: int
    batch_bytes: int


def figures(size: Size = SMALL, rounds: int = ROUNDS) -> list[Figure]:
    """Measure both brokers, which run side by side and are loaded in turns."""
    warm(print)
    jars = fetch("kafka-4.3.0")
    with tempfile.TemporaryDirectory() as folder, both(jars, Path(folder)) as peers:
        for peer in peers:
            peer.start()
        idle = peers[0].resident_mib()
        found = [
            *_produced(jars, peers, _Load("100 B", size.small, 100, 65_536), rounds),
            *_produced(jars, peers, _Load("1 KB", size.large, 1000, 131_072), rounds),
            *_from_many(jars, peers, size.many, rounds),
            *_echoed(jars, peers, size.echoes, rounds),
        ]
        loaded = [peer.resident_mib() for peer in peers]
        return [
            *found,
            Figure(
                name=f"memory when idle, {OURS}", value=idle, unit="MiB", goal=50, bound=Bound.MOST
            ),
            beside("memory under load", "MiB", loaded, at_most=200),
        ]


def _produced(jars: Jars, peers: Sequence[Peer], load: _Load, rounds: int) -> list[Figure]:
    topic = f"perf-{load.record_bytes}"
    _create(peers, topic)

    def produce(peer: Peer) -> tuple[float, float]:
        before = peer.processor_seconds()
        said = tool(
            jars, f"{_TOOLS}.ProducerPerformance", "--topic", topic,
            "--num-records", str(load.records), "--record-size", str(load.record_bytes),
            "--throughput", "-1", "--bootstrap-server", peer.bootstrap,
            "--command-property", "acks=all", "linger.ms=5", f"batch.size={load.batch_bytes}",
        )  # fmt: skip
        used = peer.processor_seconds() - before
        return float(_RATE.findall(said)[-1]), used / load.records * 1e6

    def consume(peer: Peer) -> tuple[float]:
        said = tool(jars, JAVA, "consume", peer.bootstrap, topic, str(load.records))
        return (float(said),)

    produced = in_turns(peers, rounds, produce)
    rates = [max(each[0] for each in of_peer) for of_peer in produced]
    used = [min(each[1] for each in of_peer) for of_peer in produced]
    consumed = [max(each)[0] for each in in_turns(peers, rounds, consume)]
    return [
        beside(f"produce, {load.name}", "records/s", rates, is_rate=True, goal=1),
        beside(f"produce, {load.name}, processor", "s a million records", used, goal=1 / 0.7),
        beside(f"consume, {load.name}", "records/s", consumed, is_rate=True, goal=1),
    ]


def _from_many(jars: Jars, peers: Sequence[Peer], records: int, rounds: int) -> list[Figure]:
    _create(peers, "many")

    def produce(peer: Peer) -> tuple[float, float]:
        before = peer.processor_seconds()
        words = ("produce", peer.bootstrap, "many", str(records), str(PRODUCERS))
        rate = float(tool(jars, JAVA, *words))
        return rate, (peer.processor_seconds() - before) / records * 1e6

    found = in_turns(peers, rounds, produce)
    rates = [max(each[0] for each in of_peer) for of_peer in found]
    used = [min(each[1] for each in of_peer) for of_peer in found]
    name = f"produce, 100 B, {PRODUCERS} producers, linger 0"
    return [
        beside(name, "records/s", rates, is_rate=True, goal=1),
        beside(f"{name}, processor", "s a million records", used),
    ]


def _echoed(jars: Jars, peers: Sequence[Peer], records: int, rounds: int) -> list[Figure]:
    _create(peers, "echo")

    def echo(peer: Peer) -> tuple[float, float]:
        words = (peer.bootstrap, "echo", str(records), "all", "1024")
        found = _LATENCY.search(tool(jars, f"{_TOOLS}.EndToEndLatency", *words))
        assert found is not None, "it tells of its latencies"
        return float(found[1]), float(found[2])

    runs = in_turns(peers, rounds, echo)
    average, late = ([min(each[which] for each in of_peer) for of_peer in runs] for which in (0, 1))
    return [
        beside("end to end, 1 KB, average", "ms", average, goal=1),
        beside("end to end, 1 KB, 99th percentile", "ms", late, goal=1),
    ]


def _create(peers: Sequence[Peer], topic: str) -> None:
    for peer in peers:
        with cordwood.Admin(peer.bootstrap) as admin:
            admin.create_topic(topic, partitions=1, replication_factor=1)


if __name__ == "__main__":
    for figure in figures(FULL if "--full" in sys.argv else SMALL):
        print(figure)
