"""The cost of a stranger's most expensive requests for other clients, of ours and of Kafka 4.3.

    python -m benchmarks.macro.bomber [--elements N] [--partitions N] [--versions] [--api NAME]...
                                      [--alone] [--stacks] [PART...]

    requests     for each API every list with N elements, repeated ones and unknown ones; the last
                 version of each API, with `--versions` all of them, with `--api` those alone
    frames       frames of the largest size
    sessions     full fetches that want a session, each on a connection of its own
    unread       responses that the client does not read, of 40 connections
    slow         frames that arrive byte by byte, of 40 connections
    compressed   a batch of 200 KB that becomes 200 MB
    first        the first record of each of many partitions, in one request
    coordinated  requests about groups, offsets and transactions of many partitions, which exist
    cluster      requests of every API, those between brokers too, to one of three brokers, and
                 nonsensical ones of a client that is not a broker: the cluster must not change

A bystander, another process, sends ApiVersions every 5 ms. The verdict on a part is the largest
delay of its response, and the growth of the broker's resident memory, at its peak and a rest after
the bombs, and of its descriptors. A part has a broker of its own, which has taken a record before,
and so has its handlers and its kernels. `loop's processor` is the time that our loop's thread
computes without a look at its timers, which other processes of the machine do not change.

A request has 20 s for its response. One without a response is printed; after two of them the rest
of the part is left out for that broker. `--alone` leaves Kafka out. `--stacks` prints each request
that keeps the loop for long, and our reports of long callbacks.
"""

import argparse
import os
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

import cordwood
from benchmarks.bombs.bombed_cluster import BombedCluster, cluster_around
from benchmarks.bombs.compressed_batch import compressed_batch
from benchmarks.bombs.coordination import CoordinationSite, coordination_bombs
from benchmarks.bombs.descriptions import creation_of, descriptions_of
from benchmarks.bombs.first_records import UNUSED, first_records
from benchmarks.bombs.requests import TOPIC, Bomb, bombs, frame
from benchmarks.bombs.target import Target, worst_ms
from benchmarks.figure import Bound, Figure
from benchmarks.kafka.peers import KAFKA, Peer, kafka, ours
from benchmarks.results import keep
from cordwood.broker.dispatch import ROUTES
from cordwood.broker.large_messages import MOST_ELEMENTS
from cordwood.core.errors import KafkaError
from cordwood.protocol.apis import api_of
from cordwood.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from cordwood.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from cordwood.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.interop.kafka_harness.jars import fetch
from tests.serving import ROOT

CLUSTER: Final = "cluster"
COORDINATED: Final = "coordinated"
FIRST: Final = "first"
PING_GOAL_MS: Final = 50
GROWTH_GOAL_MIB: Final = 50
#: Files of logs that requests have used stay open, those of first records too.
DESCRIPTORS_GOAL: Final = 10
#: The peak of parts whose requests take memory that is in a budget, with room for that budget.
PEAK_GOALS_MIB: Final[Mapping[str, float]] = MappingProxyType(
    {"sessions": 200, "unread": 200, "compressed": 200}
)
_CONNECTIONS: Final = 40
_MIB: Final = 1 << 20
_SHOWN_MS: Final = 15
#: Kafka's default of `socket.request.max.bytes`.
_LARGEST_FRAME: Final = 100 * _MIB
_BROKER: Final = 4
_TOPIC_RESOURCE: Final = 2
_BY_NAME: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The size of the bombs."""

    elements: int
    partitions: int
    has_all_versions: bool = False
    apis: tuple[int, ...] = tuple(ROUTES)
    frame_bytes: int = _LARGEST_FRAME
    expanded_bytes: int = 200 * _MIB
    #: The time after the bombs until the memory is read: a quiet broker returns what it has freed.
    rest_s: float = 0
    is_alone: bool = False
    has_stacks: bool = False
    #: The words of `python -m` that start our broker with a probe of its loop.
    broker: tuple[str, ...] = ("benchmarks.stalls.slow_broker",)


SMALL: Final = Options(
    elements=2_000, partitions=200, frame_bytes=_MIB, expanded_bytes=_MIB, is_alone=True
)
FULL: Final = Options(elements=MOST_ELEMENTS - 1_000, partitions=10_000, rest_s=20)


class Verdict(NamedTuple):
    """The effect of a part on the others."""

    ping_ms: float
    loop_ms: float
    grown_mib: float
    peak_mib: float
    descriptors: int
    unanswered: int


Part: TypeAlias = Callable[[Target, Options], None]


def _requests(target: Target, options: Options) -> None:
    _throw_all(target, _bombs(options), options)


def _coordinated(target: Target, options: Options) -> None:
    assert target.site is not None, "the part is prepared"
    with closing(target.site):
        _throw_all(target, coordination_bombs(target.site, options.elements), options)


def _cluster(target: Target, options: Options) -> None:
    assert target.cluster is not None, "the part is prepared"
    before = target.cluster.state()
    _throw_all(target, target.cluster.bombs(options.elements), options)
    after = target.cluster.state()
    if after != before:
        raise RuntimeError(f"the bombs have changed the cluster: {before} became {after}")


def _throw_all(target: Target, thrown: Iterator[Bomb], options: Options) -> None:
    for bomb in thrown:
        if target.is_stuck:
            print(f"{target.peer.name}: {bomb.name} and later ones are left out", file=sys.stderr)
            return
        began_s = monotonic()
        target.throw(bomb.frame, bomb.name)
        if options.has_stacks:
            _print_worst(target, bomb.name, began_s)


def _bombs(options: Options) -> Iterator[Bomb]:
    for key in options.apis:
        for version in _versions(key, options):
            yield from bombs(key, version, options.elements)


def _versions(key: int, options: Options) -> Sequence[int]:
    first, last = api_of(key).request().__schema__.versions
    return range(first, last + 1) if options.has_all_versions else (last,)


def _print_worst(target: Target, name: str, began_s: float) -> None:
    end_s = monotonic()
    used = worst_ms(target.used, began_s, end_s)
    ping = worst_ms(target.pings, began_s, end_s)
    if max(used, ping) > _SHOWN_MS:
        words = f"{end_s - began_s:.2f} s, loop {used:.0f} ms, ping {ping:.0f} ms"
        print(f"  {name}: {words}", file=sys.stderr)


def _frames(target: Target, options: Options) -> None:
    """Metadata of names of one byte, and ListOffsets of one partition, as many as fit."""
    names = struct.pack(">hhihi", 3, 1, 1, -1, options.frame_bytes // 3) + (
        b"\0\1x" * (options.frame_bytes // 3)
    )
    target.throw(struct.pack(">i", len(names)) + names, "Metadata")
    count = options.frame_bytes // 12
    body = struct.pack(">hhih", 2, 1, 1, -1) + struct.pack(">iih", -1, 1, len(TOPIC))
    body += TOPIC.encode() + struct.pack(">i", count) + struct.pack(">iq", 0, -1) * count
    target.throw(struct.pack(">i", len(body)) + body, "ListOffsets")


def _sessions(target: Target, options: Options) -> None:
    wanted = [
        FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1)
        for index in range(options.elements - 1)
    ]
    topic = FetchTopic(topic="unknown", partitions=wanted)
    request = FetchRequest(max_wait_ms=0, min_bytes=1, session_epoch=0, topics=[topic])
    bomb = frame(request, _BY_NAME)
    for _ in range(10):
        target.throw(bomb, "Fetch")


def _unread(target: Target, options: Options) -> None:
    """Responses of the configurations of many topics, and of the same broker many times."""
    bomb_of_topics = frame(descriptions_of(_TOPIC_RESOURCE, _described_topics(options)), 4)
    bomb_of_broker = frame(descriptions_of(_BROKER, ["1"] * 300), 4)
    with ExitStack() as stack:
        for number in range(_CONNECTIONS):
            connection = stack.enter_context(target.connect())
            connection.setblocking(False)  # noqa: FBT003 - the standard library's signature
            _send_some(connection, (bomb_of_topics if number % 4 else bomb_of_broker) * 10)
        sleep(min(10, options.elements / 5_000))


def _described_topics(options: Options) -> list[str]:
    return [f"{TOPIC}-{number}" for number in range(options.elements // 100)]


def _send_some(connection: socket.socket, data: bytes) -> None:
    """Send what the broker takes within a moment."""
    end_s = monotonic() + 0.1
    while data and monotonic() < end_s:
        try:
            data = data[connection.send(data) :]
        except BlockingIOError:
            sleep(0.001)
        except OSError:
            return


def _slow(target: Target, options: Options) -> None:
    bomb = frame(
        ListOffsetsRequest(
            replica_id=-1,
            topics=[
                ListOffsetsTopic(
                    name=TOPIC, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)]
                )
            ],
        ),
        7,
    )
    with ExitStack() as stack:
        slow = [stack.enter_context(target.connect()) for _ in range(_CONNECTIONS)]
        for byte in bomb[: options.elements]:
            for each in slow:
                each.send(bytes([byte]))
            sleep(0.001)


def _compressed(target: Target, options: Options) -> None:
    data = PartitionProduceData(index=0, records=compressed_batch(options.expanded_bytes))
    bomb = frame(
        ProduceRequest(
            acks=1,
            timeout_ms=1_000,
            topics=[TopicProduceData(name=TOPIC, partitions=[data])],
        ),
        9,
    )
    for _ in range(4):
        target.throw(bomb, "Produce")


def _first(target: Target, options: Options) -> None:
    target.throw(frame(first_records(range(_unused(options))), _BY_NAME), "Produce")


def _unused(options: Options) -> int:
    """Return the number of partitions without a record."""
    return options.partitions // 10


PARTS: Final[Mapping[str, Part]] = MappingProxyType(
    {
        "requests": _requests,
        "frames": _frames,
        "sessions": _sessions,
        "unread": _unread,
        "slow": _slow,
        "compressed": _compressed,
        FIRST: _first,
        COORDINATED: _coordinated,
        CLUSTER: _cluster,
    }
)


def figures(size: int = 0) -> Iterator[Figure]:
    """Measure all parts with small numbers, ours alone."""
    del size
    return measure(SMALL, [*PARTS])


def measure(options: Options, parts: Sequence[str]) -> Iterator[Figure]:
    """Measure each part on a broker of its own."""
    for part in parts:
        with tempfile.TemporaryDirectory() as folder:
            mine = _verdict_on_ours(ours(Path(folder, "ours")), part, options)
            is_alone = options.is_alone or part == CLUSTER
            theirs = None if is_alone else _verdict_on_kafka(folder, part, options)
            yield from _figures(part, mine, theirs)


def _verdict_on_ours(peer: Peer, part: str, options: Options) -> Verdict:
    if part != CLUSTER:
        return _verdict(peer, part, options)
    with cluster_around(peer) as cluster:
        return _verdict(peer, part, options, cluster=cluster)


def _verdict_on_kafka(folder: str, part: str, options: Options) -> Verdict | None:
    """Return the verdict on Kafka, None if the part cannot be prepared there."""
    try:
        return _verdict(kafka(fetch("kafka-4.3.0"), Path(folder, "kafka")), part, options)
    except (KafkaError, OSError, RuntimeError) as error:
        print(f"{KAFKA}: {part}: {error!r}", file=sys.stderr)
        return None


def _verdict(
    peer: Peer, part: str, options: Options, *, cluster: BombedCluster | None = None
) -> Verdict:
    if peer.name != KAFKA:
        _probe(peer, options)
    try:
        peer.start()
        if cluster is not None:
            cluster.wait_until_joined()
        with cordwood.Admin(peer.bootstrap) as admin:
            admin.create_topic(TOPIC)
            if part == FIRST:
                admin.create_topic(UNUSED, partitions=_unused(options))
        target = Target(peer, peer.folder / "pings")
        target.cluster = cluster
        target.warm_up()
        if part == "unread":
            target.throw(frame(creation_of(_described_topics(options)), 5), "CreateTopics")
        if part == COORDINATED:
            target.site = CoordinationSite(
                peer.port, partitions=options.partitions, groups=options.partitions // 10
            )
        with _bystander(target):
            before, start_s = target.begin_peak(), monotonic()
            descriptors = target.descriptors()
            PARTS[part](target, options)
            target.settle()
            end_s = monotonic()
            return Verdict(
                target.longest_ping_ms(start_s, end_s),
                worst_ms(target.used, start_s, end_s),
                _rested_mib(peer, options.rest_s) - before,
                target.peak_mib() - before,
                target.descriptors() - descriptors,
                target.unanswered,
            )
    finally:
        peer.end(is_killed=True)
        for line in peer.words().splitlines():
            if options.has_stacks and "held up" in line:
                print(f"  {line}", file=sys.stderr)


def _rested_mib(peer: Peer, rest_s: float) -> float:
    """Return the memory in use after a rest."""
    sleep(rest_s)
    return peer.resident_mib()


def _probe(peer: Peer, options: Options) -> None:
    """Let our broker record the processor time of its loop."""
    os.environ["STALLS_LATENCY"] = str(peer.folder / "loop")
    at = peer.command.index("cordwood")
    peer.command[at : at + 1] = options.broker
    if options.has_stacks:
        peer.command.append("--debug")


@contextmanager
def _bystander(target: Target) -> Iterator[None]:
    """Ping the broker until the end of the block."""
    words = ("127.0.0.1", str(target.peer.port), str(target.pings))
    process = subprocess.Popen(
        (sys.executable, "-m", "benchmarks.stalls.bystander", *words),
        cwd=ROOT,
        stdin=subprocess.PIPE,
    )
    while not target.pings.exists() or not target.pings.stat().st_size:
        sleep(0.05)
    try:
        yield
    finally:
        process.communicate(b"")


def _figures(part: str, mine: Verdict, theirs: Verdict | None) -> Iterator[Figure]:
    goals = {
        "ping_ms": PING_GOAL_MS,
        "loop_ms": PING_GOAL_MS,
        "grown_mib": GROWTH_GOAL_MIB,
        "peak_mib": PEAK_GOALS_MIB.get(part),
        "descriptors": None if part == FIRST else DESCRIPTORS_GOAL,
        "unanswered": 0,
    }
    units = {"ping_ms": "ms", "loop_ms": "ms", "grown_mib": "MiB", "peak_mib": "MiB"}
    titles = {
        "ping_ms": "longest ping",
        "loop_ms": "loop's processor",
        "grown_mib": "memory",
        "peak_mib": "peak of the memory",
    }
    for name, value in mine._asdict().items():
        other = None if theirs is None or name == "loop_ms" else getattr(theirs, name)
        yield Figure(
            name=f"bomber, {part}, {titles.get(name, name)}",
            value=value,
            unit=units.get(name, ""),
            peer=None if other is None else KAFKA,
            peer_value=other,
            ratio=None if other is None else other / value if value else 1,
            goal=goals.get(name),
            bound=Bound.MOST,
        )


_KEYS: Final = {api_of(key).name: key for key in ROUTES}


def _asked() -> argparse.Namespace:
    asked = argparse.ArgumentParser(prog="benchmarks.macro.bomber")
    asked.add_argument("parts", nargs="*", metavar="PART", choices=[[], *PARTS])
    asked.add_argument("--elements", type=int, default=FULL.elements)
    asked.add_argument("--partitions", type=int, default=FULL.partitions)
    asked.add_argument("--versions", action="store_true")
    asked.add_argument("--api", action="append", metavar="NAME", choices=[*_KEYS])
    asked.add_argument("--alone", action="store_true")
    asked.add_argument("--stacks", action="store_true")
    return asked.parse_args()


if __name__ == "__main__":
    said = _asked()
    chosen = replace(
        FULL,
        elements=said.elements,
        partitions=said.partitions,
        has_all_versions=said.versions,
        apis=tuple(_KEYS[each] for each in said.api or _KEYS),
        is_alone=said.alone,
        has_stacks=said.stacks,
    )
    keep(measure(chosen, said.parts or [*PARTS]))
