"""How fast are groups, offsets and transactions of our broker, next to Kafka 4.3?

    make bench-kafka        or: python -m benchmarks.kafka.coordination [--full] [--rounds N] [ROW]

rebalance     a classic group of 3, whose leader joins again, while 1,000 groups of one member send
              heartbeats: from the first JoinGroup request to the last SyncGroup response
commits       commits of one offset, pipelined on one connection, and on 16
transactions  ten records of 100 bytes each, by Kafka's producer, one and 16 at a time
storm         the produce latency of 1 KB while 3,000 members send heartbeats in their intervals
              (classic 3 s, KIP-848 5 s), each on a connection of its own; without a goal, while
              all classic ones send theirs at the same moments
restart       kill -9 with 100,000 committed offsets, 100 each of 1,000 groups, and a start: to the
              first answer, and to the correct offset of a group in each partition

Members and requests are the same bytes for both brokers, encoded before the clock starts; so the
client is not the bottleneck. Rounds are taken in turns; the best of each side counts. The processor
time is the broker's alone. `--full` takes the numbers above where a tenth serves.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import monotonic, sleep
from types import MappingProxyType
from typing import Final, NamedTuple

import cordwood
from benchmarks.figure import Figure
from benchmarks.kafka.coordination_members import (
    HEARTBEAT,
    Member,
    ensure,
    heartbeat_frame,
    join_classic,
    join_frame,
    receive_join,
    receive_sync,
    sync_frame,
)
from benchmarks.kafka.coordination_wire import (
    Channel,
    await_coordinators,
    decoded,
    frame_of,
    pipelined,
)
from benchmarks.kafka.peers import KAFKA, ROUNDS, Peer, asked, beside, both, in_turns, tool
from benchmarks.results import keep
from benchmarks.stalls.wire import PRODUCE_VERSION, produce_frame
from cordwood.coordination.key_partition import partition_for
from cordwood.core.errors import RebalanceInProgressError
from cordwood.core.system import SystemClock
from cordwood.protocol.messages.heartbeat import HeartbeatResponse
from cordwood.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from cordwood.protocol.messages.produce import ProduceResponse
from cordwood.records.batch_builder import BatchBuilder
from tests.interop.kafka_harness.jars import Jars, fetch
from tests.serving import ROOT

JAVA: Final = str(Path(__file__).parent / "Transactions.java")
PARTITIONS: Final = 100
PRODUCERS: Final = 16
CONNECTIONS: Final = 16
_TOPIC: Final = "coordinated"
_OFFSETS_PARTITIONS: Final = 50
_TRIO: Final = 3
_RESTART: Final = "restart"
_WINDOW: Final = 100
#: The transactions of each producer before the clock starts, as in `Transactions.java`.
_WARM_TRANSACTIONS: Final = 50
#: The runs of Kafka that may be lost.
_MOST_LOST: Final = 5
#: OffsetCommit without flexible fields, and OffsetFetch of several groups.
_COMMIT: Final = 7
_FETCH: Final = 8
_PRODUCE_EVERY_S: Final = 0.005
_INTERVAL_S: Final[Mapping[str, float]] = MappingProxyType({"classic": 3, "consumer": 5})
#: Kafka's clients wait for 100 ms before they ask a coordinator again.
_POLL_S: Final = 0.005
_PATIENCE_S: Final = 120


class Size(NamedTuple):
    """How many of each a round takes."""

    groups: int
    rebalances: int
    offset_groups: int
    commits: int
    transactions: int
    storm_groups: int
    storm_size: int
    storm_s: float


SMALL: Final = Size(100, 20, 100, 10_000, 1_600, 30, 10, 5)
FULL: Final = Size(1_000, 50, 1_000, 20_000, 3_200, 30, 100, 10)


class Bench(NamedTuple):
    """Both brokers, and how often each is measured."""

    jars: Jars
    peers: Sequence[Peer]
    rounds: int

    def rounds_of(self, measure: Callable[[Peer], Sequence[float]], name: str) -> "Rounds":
        """Return each peer's values, round by round, and print each."""

        def printed(peer: Peer) -> Sequence[float]:
            values = measure(peer)
            words = " ".join(f"{value:,.3f}" for value in values)
            print(f"  {name}, {peer.name}: {words}", file=sys.stderr, flush=True)
            return values

        return Rounds(in_turns(self.peers, self.rounds, printed))


class Rounds(NamedTuple):
    """The values of each peer, round by round."""

    of_peers: list[list[list[float]]]

    def least(self, which: int) -> list[float]:
        """Return the least value of each peer."""
        return [min(each[which] for each in rounds) for rounds in self.of_peers]

    def most(self, which: int) -> list[float]:
        """Return the highest value of each peer."""
        return [max(each[which] for each in rounds) for rounds in self.of_peers]


def figures(
    size: Size = SMALL, rounds: int = ROUNDS, rows: Sequence[str] | None = None
) -> Iterator[Figure]:
    """Measure both brokers, which run side by side and are measured in turns.

    The restart has brokers of its own: it would read what the rows before have written.
    """
    jars = fetch("kafka-4.3.0")
    wanted = [*(rows or ROWS)]
    restart = [row for row in wanted if row == _RESTART]
    for group in filter(None, ([row for row in wanted if row not in restart], restart)):
        with _started(jars) as peers:
            for row in group:
                yield from ROWS[row](Bench(jars, peers, rounds), size)


@contextmanager
def _started(jars: Jars) -> Iterator[Sequence[Peer]]:
    """Start both brokers in a folder of their own, and create the topic of the rows."""
    with tempfile.TemporaryDirectory() as folder, both(jars, Path(folder)) as peers:
        for peer in peers:
            peer.start()
            with cordwood.Admin(peer.bootstrap) as admin:
                admin.create_topic(_TOPIC, partitions=PARTITIONS, replication_factor=1)
        yield peers


# -- rebalance


def _rebalance(bench: Bench, size: Size) -> Iterator[Figure]:
    def rebalance(peer: Peer) -> tuple[float, float]:
        with _members(peer, "classic", size.groups, 1), _trio(peer) as trio:
            used, took_s = peer.processor_seconds(), list[float]()
            for _ in range(size.rebalances):
                start_s = monotonic()
                _rebalance_once(trio)
                took_s.append(monotonic() - start_s)
            each_ms = peer.processor_seconds_since(used) / size.rebalances * 1e3
        return median(took_s) * 1e3, each_ms

    name = f"rebalance, one group of {_TRIO} among {size.groups:,}"
    found = bench.rounds_of(rebalance, name)
    yield beside(name, "ms", found.least(0), goal=1)
    yield beside(f"{name}, processor", "ms", found.least(1))


@contextmanager
def _trio(peer: Peer) -> Iterator[list[Member]]:
    """Keep a group of three members, the leader first."""
    members = [Member("trio", Channel(peer.port)) for _ in range(_TRIO)]
    try:
        await_coordinators(members[0].channel, ["trio"])
        join_classic(members, _TOPIC)
        yield sorted(members, key=lambda each: not each.leads)
    finally:
        for each in members:
            each.channel.close()


def _rebalance_once(members: Sequence[Member]) -> None:
    """Let the leader join again; the others follow after the first heartbeat with that error."""
    leader, *others = members
    leader.channel.send(join_frame(leader, _TOPIC))
    for each in others:
        while not _is_rebalancing(each):
            continue
        each.channel.send(join_frame(each, _TOPIC))
    known = [receive_join(each) for each in members]
    for each, ids in zip(members, known, strict=True):
        each.channel.send(sync_frame(each, ids))
    for each in members:
        receive_sync(each)


def _is_rebalancing(member: Member) -> bool:
    member.channel.send(heartbeat_frame(member))
    answer = decoded(member.channel.receive(), HeartbeatResponse, HEARTBEAT)
    return answer.error_code == RebalanceInProgressError.code


@contextmanager
def _members(peer: Peer, kind: str, groups: int, size: int, *more: str) -> Iterator[None]:
    """Keep members in a process of their own, which send heartbeats."""
    words = (str(peer.port), kind, str(groups), str(size), str(_INTERVAL_S[kind]), _TOPIC, *more)
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.kafka.coordination_members", *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        if process.stdout.readline() != "joined\n":
            raise RuntimeError("the members have not joined")
        yield
        process.stdin.close()
        sent, errors = map(int, process.stdout.read().split())
        if errors:
            raise RuntimeError(f"{errors} of {sent} heartbeats have an error")
    finally:
        process.kill()
        process.wait(_PATIENCE_S)
        process.stdout.close()


# -- offsets


def _restart(bench: Bench, size: Size) -> Iterator[Figure]:
    groups = [f"committed-{number:05}" for number in range(size.offset_groups)]
    for peer in bench.peers:
        _commit_all(peer, groups)

    def restart(peer: Peer) -> tuple[float, float, float]:
        peer.end(is_killed=True)
        start_s = monotonic()
        peer.start()
        answered_s = monotonic()
        _await_offsets(peer, groups)
        loaded_s = monotonic()
        return loaded_s - start_s, loaded_s - answered_s, peer.processor_seconds()

    name = f"restart, {len(groups) * PARTITIONS:,} committed offsets"
    found = bench.rounds_of(restart, name)
    yield beside(name, "s", found.least(0), at_most=1)
    yield beside(f"{name}, after the first answer", "s", found.least(1))
    yield beside(f"{name}, processor", "s", found.least(2))


def _commit_all(peer: Peer, groups: Sequence[str]) -> None:
    channel = Channel(peer.port)
    await_coordinators(channel, groups)
    frames = [_commit_frame(each, range(PARTITIONS)) for each in groups]
    _ensure_committed(pipelined([channel], frames, window=10))
    channel.close()


def _await_offsets(peer: Peer, groups: Sequence[str]) -> None:
    """Wait until a group in each partition of the offsets topic has its offset."""
    channel = Channel(peer.port)
    for group in _one_of_each_partition(groups):
        while not _is_correct(_fetched(channel, [group])):
            sleep(_POLL_S)
    channel.close()


def _one_of_each_partition(groups: Sequence[str]) -> list[str]:
    by_partition = {partition_for(each, _OFFSETS_PARTITIONS): each for each in groups}
    return [*by_partition.values()]


def _fetched(channel: Channel, groups: Sequence[str]) -> OffsetFetchResponse:
    topics = [OffsetFetchRequestTopic(name=_TOPIC, partition_indexes=[PARTITIONS - 1])]
    asked = [OffsetFetchRequestGroup(group_id=each, topics=topics) for each in groups]
    return channel.ask(OffsetFetchRequest(groups=asked), _FETCH, answer=OffsetFetchResponse)


def _is_correct(response: OffsetFetchResponse) -> bool:
    offsets = [
        partition.committed_offset
        for group in response.groups
        for topic in group.topics
        for partition in topic.partitions
    ]
    return offsets == [PARTITIONS - 1]


def _commit_frame(group: str, partitions: Sequence[int]) -> bytes:
    """Return the commit of a simple consumer; each offset is the number of its partition."""
    committed = [
        OffsetCommitRequestPartition(
            partition_index=each, committed_offset=each, committed_metadata=""
        )
        for each in partitions
    ]
    topics = [OffsetCommitRequestTopic(name=_TOPIC, partitions=committed)]
    return frame_of(OffsetCommitRequest(group_id=group, member_id="", topics=topics), _COMMIT)


def _ensure_committed(frames: Sequence[bytes]) -> None:
    for frame in frames:
        for topic in decoded(frame, OffsetCommitResponse, _COMMIT).topics:
            for partition in topic.partitions:
                ensure(partition.error_code)


def _commits(bench: Bench, size: Size) -> Iterator[Figure]:
    for count in (1, CONNECTIONS):
        groups = [f"committing-{number}" for number in range(count)]
        share = size.commits // count
        frames = [_commit_frame(each, [n % PARTITIONS]) for each in groups for n in range(share)]

        def commit(
            peer: Peer, groups: Sequence[str] = groups, frames: Sequence[bytes] = frames
        ) -> tuple[float, float]:
            channels = [Channel(peer.port) for _ in groups]
            await_coordinators(channels[0], groups)
            used, start_s = peer.processor_seconds(), monotonic()
            answers = pipelined(channels, frames, window=_WINDOW)
            took_s = monotonic() - start_s
            used = peer.processor_seconds_since(used)
            _ensure_committed(answers)
            for each in channels:
                each.close()
            return len(frames) / took_s, used / len(frames) * 1e6

        name = f"offset commits, {count} connection{'s' * (count > 1)}"
        found = bench.rounds_of(commit, name)
        yield beside(name, "commits/s", found.most(0), is_rate=True, goal=1)
        yield beside(f"{name}, processor", "us a commit", found.least(1))


# -- transactions


def _transactions(bench: Bench, size: Size) -> Iterator[Figure]:
    for producers in (1, PRODUCERS):

        def transact(peer: Peer, producers: int = producers) -> tuple[float, float]:
            words = (peer.bootstrap, _TOPIC, str(producers), str(size.transactions))
            rate, used_s = _transacted(bench.jars, peer, words)
            counted = size.transactions + producers * _WARM_TRANSACTIONS
            return rate, used_s / counted * 1e3

        name = f"transactions of ten records, {producers} producer{'s' * (producers > 1)}"
        found = bench.rounds_of(transact, name)
        yield beside(name, "transactions/s", found.most(0), is_rate=True, goal=1)
        yield beside(f"{name}, processor", "ms a transaction", found.least(1))


def _transacted(jars: Jars, peer: Peer, words: Sequence[str]) -> tuple[float, float]:
    """Return the transactions a second, and the processor's seconds.

    Kafka 4.3 refuses a batch with INVALID_TXN_STATE at times, when a marker is appended while its
    producer's next transaction is verified. The producer has to stop then, and Kafka's run is lost.
    """
    lost = 0
    while True:
        used = peer.processor_seconds()
        try:
            return float(tool(jars, JAVA, *words)), peer.processor_seconds_since(used)
        except RuntimeError as error:
            if peer.name != KAFKA or lost == _MOST_LOST:
                raise
            lost += 1
            print(f"  lost, {peer.name}: {str(error)[-200:]}", file=sys.stderr)


# -- storm


def _storm(bench: Bench, size: Size) -> Iterator[Figure]:
    members = size.storm_groups * size.storm_size
    quiet = bench.rounds_of(lambda peer: _produced(peer, size.storm_s), "produce, no members")
    yield beside("produce, no members, 99th percentile", "ms", quiet.least(1))
    for kind, more in (("classic", ()), ("consumer", ()), ("classic", ("--at-once",))):

        def produce(
            peer: Peer, kind: str = kind, more: Sequence[str] = more
        ) -> tuple[float, float, float]:
            with _members(peer, kind, size.storm_groups, size.storm_size, *more):
                return _produced(peer, size.storm_s)

        name = f"produce, {members:,} {kind} members{', all at once' if more else ''}"
        found = bench.rounds_of(produce, name)
        yield beside(f"{name}, median", "ms", found.least(0))
        most = None if more else 10
        yield beside(f"{name}, 99th percentile", "ms", found.least(1), at_most=most)
        yield beside(f"{name}, processor", "share", found.least(2))


def _produced(peer: Peer, time_s: float) -> tuple[float, float, float]:
    """Produce 1 KB every 5 ms; return median and 99th percentile in ms, and the processor's share.

    A latency counts from the time at which a request was due.
    """
    builder = BatchBuilder()
    builder.append(None, bytes(1_000), timestamp=SystemClock().now_ms())
    frame = produce_frame(_TOPIC, [0], bytes(builder.build()))
    channel, took_s, answers = Channel(peer.port), list[float](), list[bytes]()
    used, start_s = peer.processor_seconds(), monotonic()
    for number in range(int(time_s / _PRODUCE_EVERY_S)):
        due_s = start_s + number * _PRODUCE_EVERY_S
        sleep(max(0.0, due_s - monotonic()))
        channel.send(frame)
        answers.append(channel.receive())
        took_s.append(monotonic() - due_s)
    share = peer.processor_seconds_since(used) / (monotonic() - start_s)
    channel.close()
    for answer in answers:
        response = decoded(answer, ProduceResponse, PRODUCE_VERSION)
        ensure(response.responses[0].partitions[0].error_code)
    took_s.sort()
    return median(took_s) * 1e3, took_s[int(len(took_s) * 0.99)] * 1e3, share


#: The rows, in the order of a whole run.
ROWS: Final[Mapping[str, Callable[[Bench, Size], Iterator[Figure]]]] = MappingProxyType(
    {
        "rebalance": _rebalance,
        "commits": _commits,
        "transactions": _transactions,
        "storm": _storm,
        _RESTART: _restart,
    }
)


if __name__ == "__main__":
    said = asked("benchmarks.kafka.coordination", ROWS)
    keep(figures(FULL if said.full else SMALL, said.rounds, said.rows))
