"""How fast are three of our brokers, next to three of Kafka 3.9 on the same machine?

    make bench-kafka          or: python -m benchmarks.kafka.cluster [--full] [--rounds N] [ROW...]

Rows: Kafka's ProducerPerformance (acks=all, idempotent) to topics of 1 and of 12 partitions, each
on all three brokers, with `min.insync.replicas` 2: 100 bytes with batches of 64 KB, 1 KB with
batches of 128 KB. The processor time is that of the three brokers together, without ZooKeeper.

Election: a broker that leads 1,000 partitions is killed, with kill -9. The time is that from the
end of its session in ZooKeeper until both other brokers have another leader for each partition in
their metadata, and so have taken these roles. The processor time is that of these two brokers.

Both clusters run side by side, and are loaded in turns; the best round of each side counts. A ROW
(100B-1, 100B-12, 1KB-1, 1KB-12, election) is measured alone. The rounds are printed on the standard
error.
"""

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from time import perf_counter
from types import MappingProxyType
from typing import Final, NamedTuple

from kazoo.client import KazooClient

from benchmarks.figure import Bound, Figure
from benchmarks.kafka.cluster_peers import BROKERS, KAFKA, Cluster, both_clusters, leads, until
from benchmarks.kafka.load import Load, produce_rate
from benchmarks.kafka.peers import PATIENCE_S, ROUNDS, asked, beside
from benchmarks.results import keep
from tests.interop.kafka_harness.jars import Jars, fetch

#: The longest time of an election.
MOST_ELECTION_S: Final = 3
_VICTIM: Final = BROKERS[-1]
#: The resolution of the processor time of a process.
_TICK_S: Final = 0.01


class Size(NamedTuple):
    """How many records of each kind a round takes, and how many partitions need a leader."""

    small: int
    large: int
    partitions: int


SMALL: Final = Size(1_000_000, 200_000, 1_000)
FULL: Final = Size(3_000_000, 600_000, 1_000)


class _Bench(NamedTuple):
    """Both clusters, the jars of the client, and how often each is measured."""

    clusters: Sequence[Cluster]
    jars: Jars
    rounds: int

    def rounds_of(
        self, name: str, measure: Callable[[Cluster], tuple[float, float]]
    ) -> tuple[list[list[float]], list[list[float]]]:
        """Return the first and the second values, by cluster; the rounds are taken in turns."""
        firsts: list[list[float]] = [[] for _ in self.clusters]
        seconds: list[list[float]] = [[] for _ in self.clusters]
        for _ in range(self.rounds):
            for cluster, first, second in zip(self.clusters, firsts, seconds, strict=True):
                values = measure(cluster)
                words = f"  {name}, {cluster.name}: {values[0]:,.2f} {values[1]:,.2f}"
                print(words, file=sys.stderr, flush=True)
                first.append(values[0])
                second.append(values[1])
        return firsts, seconds


def figures(
    size: Size = SMALL, rounds: int = ROUNDS, rows: Sequence[str] | None = None
) -> list[Figure]:
    """Measure both clusters."""
    jars = fetch("kafka-4.3.0")
    with tempfile.TemporaryDirectory() as folder, both_clusters(Path(folder)) as clusters:
        bench = _Bench(clusters, jars, rounds)
        return [each for row in rows or ROWS for each in ROWS[row](bench, size)]


def _produced(bench: _Bench, load: Load, *, partitions: int) -> list[Figure]:
    topic = f"perf-{load.record_bytes}-{partitions}"
    for cluster in bench.clusters:
        cluster.create(topic, [_rotated(each) for each in range(partitions)])

    def produce(cluster: Cluster) -> tuple[float, float]:
        before = cluster.processor_seconds()
        rate = produce_rate(bench.jars, load, topic=topic, bootstrap=cluster.bootstrap)
        used = cluster.processor_seconds() - before
        return rate, used / load.records * 1e6

    name = f"3 brokers, produce, {load.name}, {partitions} partitions"
    rates, used = bench.rounds_of(name, produce)
    for cluster in bench.clusters:
        cluster.delete(topic)
    return [
        _beside(name, "records/s", [*map(max, rates)], is_rate=True, goal=1),
        _beside(f"{name}, processor", "s a million records", [*map(min, used)]),
    ]


def _beside(
    name: str,
    unit: str,
    values: Sequence[float],
    *,
    is_rate: bool = False,
    goal: float | None = None,
) -> Figure:
    """Return our figure with that of Kafka 3.9."""
    figure = beside(name, unit, values, is_rate=is_rate, goal=goal)
    return replace(figure, peer=KAFKA)


def _rotated(number: int) -> list[int]:
    """Return the replicas of a partition; each broker leads equally many."""
    return [BROKERS[(number + each) % len(BROKERS)] for each in range(len(BROKERS))]


def _elected(bench: _Bench, partitions: int) -> list[Figure]:
    topic = "elections"
    for cluster in bench.clusters:
        cluster.create(topic, [[_VICTIM, *BROKERS[:-1]]] * partitions)
    name = f"3 brokers, election of {partitions} leaders"
    times, used = bench.rounds_of(name, partial(_election, topic=topic, partitions=partitions))
    for cluster in bench.clusters:
        cluster.delete(topic)
    return [
        replace(_beside(name, "s", [*map(min, times)]), goal=MOST_ELECTION_S, bound=Bound.MOST),
        _beside(f"{name}, processor", "s", [max(_TICK_S, min(each)) for each in used]),
    ]


def _election(cluster: Cluster, *, topic: str, partitions: int) -> tuple[float, float]:
    """Kill the leader; return the time until all partitions have another one, and let it return."""
    *survivors, victim = cluster.brokers
    client, is_gone = KazooClient(cluster.zookeeper.address), Event()
    client.start()
    try:
        client.exists(f"/brokers/ids/{_VICTIM}", watch=lambda _: is_gone.set())
        victim.end(is_killed=True)
        assert is_gone.wait(PATIENCE_S), "the session ends"
        began_s = perf_counter()
    finally:
        client.stop()
        client.close()
    before = sum(each.processor_seconds() for each in survivors)
    for broker in survivors:
        until(lambda: not leads(broker, topic, _VICTIM))  # noqa: B023  # called in this turn
    took_s = perf_counter() - began_s
    used = sum(each.processor_seconds() for each in survivors) - before
    victim.start()
    cluster.wait_for_replicas(topic, partitions)
    cluster.elect_preferred(topic, _VICTIM)
    return took_s, used


def _row(kind: str, partitions: int) -> Callable[[_Bench, Size], list[Figure]]:
    def measure(bench: _Bench, size: Size) -> list[Figure]:
        load = (
            Load("100 B", size.small, 100, 65_536)
            if kind == "100B"
            else Load("1 KB", size.large, 1000, 131_072)
        )
        return _produced(bench, load, partitions=partitions)

    return measure


#: The rows, in the order of a whole run.
ROWS: Final[Mapping[str, Callable[[_Bench, Size], list[Figure]]]] = MappingProxyType(
    {
        **{
            f"{kind}-{partitions}": _row(kind, partitions)
            for kind in ("100B", "1KB")
            for partitions in (1, 12)
        },
        "election": lambda bench, size: _elected(bench, size.partitions),
    }
)


if __name__ == "__main__":
    said = asked("benchmarks.kafka.cluster", ROWS)
    keep(figures(FULL if said.full else SMALL, said.rounds, said.rows))
