"""How does a broker begin, come back, and carry many partitions, next to Kafka 4.3?

    make bench-kafka          or: python -m benchmarks.kafka.life [--full]

The time from the start of the process to the first answer with a fresh directory, after a clean
stop, and after kill -9 with unsynced batches of 16 KB (`--full`: 1 GB of them). Then ours opens
many partitions (`--full`: 10,000) and answers a Metadata request.
"""

import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import cordwood
from benchmarks.figure import Bound, Figure
from benchmarks.kafka.peers import Peer, beside, both, in_turns, ours, tool
from benchmarks.results import keep
from tests.interop.kafka_harness.jars import Jars, fetch

ROUNDS: Final = 3
_MB: Final = 1_000_000
_RECORD_BYTES: Final = 1000
_PARTITIONS_AT_ONCE: Final = 500


class Size(NamedTuple):
    """How much is unsynced when the power goes, and how many partitions there are."""

    unsynced_bytes: int
    partitions: int


SMALL: Final = Size(200_000_000, 2_000)
FULL: Final = Size(1_000_000_000, 10_000)


def figures(size: Size = SMALL, rounds: int = ROUNDS) -> list[Figure]:
    """Measure both brokers' starts, in turns, and then ours with many partitions."""
    return [*_starts(size.unsynced_bytes, rounds), *_many_partitions(size.partitions)]


def _starts(unsynced_bytes: int, rounds: int) -> list[Figure]:
    jars = fetch("kafka-4.3.0")
    with tempfile.TemporaryDirectory() as folder, both(jars, Path(folder)) as peers:
        fresh = in_turns(peers, 1, _started)
        for peer in peers:
            _fill(jars, peer, unsynced_bytes)
        torn = in_turns(peers, rounds, partial(_started, is_killed=True))
        again = in_turns(peers, rounds, _started)
    return [
        *_figures("start, fresh directory", fresh, at_most=0.4),
        *_figures(f"start, after kill -9, {unsynced_bytes // _MB} MB", torn, at_most=1.5),
        *_figures("start, after a clean stop", again, at_most=0.4),
    ]


def _started(peer: Peer, *, is_killed: bool = False) -> tuple[float, float]:
    """End a broker if it runs; return after how long it answered again, and what that took."""
    peer.end(is_killed=is_killed)
    return peer.start(), peer.processor_seconds()


def _figures(name: str, runs: list[list[list[float]]], *, at_most: float) -> Iterator[Figure]:
    """Yield the best times on the wall, and of the processor, which other work disturbs less."""
    wall, processor = ([min(each[of] for each in runs_of) for runs_of in runs] for of in (0, 1))
    yield beside(name, "s", wall, at_most=at_most)
    yield beside(f"{name}, processor", "s", processor)


def _fill(jars: Jars, peer: Peer, size: int) -> None:
    _create(peer, "unsynced", 1)
    tool(
        jars, "org.apache.kafka.tools.ProducerPerformance", "--topic", "unsynced",
        "--num-records", str(size // _RECORD_BYTES), "--record-size", str(_RECORD_BYTES),
        "--throughput", "-1", "--bootstrap-server", peer.bootstrap,
        "--command-property", "acks=all", "linger.ms=5", "batch.size=16384",
    )  # fmt: skip


def _many_partitions(count: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        peer = ours(Path(folder, "ours"))
        try:
            peer.start()
            for first in range(0, count, _PARTITIONS_AT_ONCE):
                _create(peer, f"many-{first}", min(_PARTITIONS_AT_ONCE, count - first))
            peer.end()
            opened = peer.start()
            resident = peer.resident_mib()
            told = min(peer.metadata_seconds() for _ in range(ROUNDS))
        finally:
            peer.end(is_killed=True)
    name = f"{count} partitions"
    return [
        Figure(name=f"{name}, start", value=opened, unit="s", goal=10, bound=Bound.MOST),
        Figure(name=f"{name}, memory", value=resident, unit="MiB", goal=500, bound=Bound.MOST),
        Figure(name=f"{name}, metadata", value=told * 1e3, unit="ms", goal=50, bound=Bound.MOST),
    ]


def _create(peer: Peer, topic: str, partitions: int) -> None:
    with cordwood.Admin(peer.bootstrap) as admin:
        admin.create_topic(topic, partitions=partitions, replication_factor=1)


if __name__ == "__main__":
    keep(figures(FULL if "--full" in sys.argv else SMALL))
