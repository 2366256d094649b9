"""How fast is a stream of Spark next to spark-sql-kafka over the same broker?

    python -m benchmarks.spark.streams [--full]

A broker of Kafka 4.3 holds the same records for both. spark-sql-kafka 4.0.0 streams them from the
broker in its own Spark, as it is delivered. We stream the broker's directory in Spark 4.3, with
Python workers over unix sockets and the checkpoint manager for local file systems. Rows go to
`noop`, so that reading and the cost of batches are measured.

    AvailableNow    all records in one batch, with the start of the query: of one partition, as
                    both sides divide it by default, and of four in at least four tasks
    micro-batch     the median of `triggerExecution` over the batches of one partition, without the
                    first five; the peer is measured again with the same checkpoint manager

Sessions are warmed by every question once. Rounds are in turns, and the best one counts. To compare
two commits, run it on both, one after the other, on a machine that does nothing else.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import cordwood
from benchmarks.figure import Bound, Figure
from benchmarks.kafka.peers import Peer, running_kafka
from benchmarks.results import keep
from benchmarks.spark.throughput import KEPT, PARTITIONS, PEER, ROUNDS, fill
from cordwood.spark.runtime.stream_settings import LOCAL_MANAGER, UNIX_SOCKETS
from tests.interop.kafka_harness.oracle import Program
from tests.interop.kafka_harness.spark import connector

if TYPE_CHECKING:
    from benchmarks.spark.session import Answer
    from tests.interop.kafka_harness.spec import Json

_SESSION: Final = str(Path(__file__).with_name("session.py"))
_MILLION: Final = 1e6
_VALUE_BYTES: Final = 100
#: The class moved between the versions of Spark.
THEIR_MANAGER: Final = LOCAL_MANAGER.replace(".checkpointing.", ".")


class StreamSize(NamedTuple):
    """Records of four partitions, records of one partition, and the batches to read these in.

    `tasks` are the numbers of tasks of a micro-batch; `warm_ups` are rounds that do not count.
    """

    streamed: int
    single: int
    batches: int
    tasks: tuple[int, ...] = (1, 8)
    warm_ups: int = 1


SMALL: Final = StreamSize(300_000, 300_000, 30)
FULL: Final = StreamSize(3_000_000, 3_000_000, 60)


class StreamSide(NamedTuple):
    """A session, the options of its format, and its checkpoint manager for local files."""

    session: Program
    where: dict[str, str]
    manager: str

    def ask(self, what: str, *, manager: str = "", **options: str) -> "Answer":
        """Return the result of a stream and its cost."""
        given: dict[str, Json] = {**self.where, "startingOffsets": "earliest", **options}
        return cast("Answer", self.session.ask(what, {"options": given, "manager": manager}))


class StreamedTopic(NamedTuple):
    """A topic, the words and the number of its records, more options, and the required ratio."""

    name: str
    words: str
    records: int
    options: dict[str, str]
    goal: float


def figures(size: StreamSize = SMALL, rounds: int = ROUNDS) -> Iterator[Figure]:
    """Measure both sides in turns."""
    with ExitStack() as stack:
        broker, folder = stack.enter_context(running_kafka())
        _fill(broker, size)
        both = _sides(stack, broker, folder)
        one = StreamedTopic("single", "one partition", size.single, {}, goal=2)
        divided = {"minPartitions": str(PARTITIONS)}
        four = StreamedTopic("streamed", "four partitions", size.streamed, divided, goal=1)
        yield from _available_now(both, one, rounds + size.warm_ups)
        yield from _available_now(both, four, rounds + size.warm_ups)
        for tasks in size.tasks:
            yield from _micro_batches(both, size, rounds, tasks=tasks)


def _available_now(
    both: tuple[StreamSide, StreamSide], topic: StreamedTopic, rounds: int
) -> Iterator[Figure]:
    """Yield the rate of all records at once, with the start of the query, and its cost."""
    options, records = {"subscribe": topic.name, **topic.options}, topic.records
    name = f"Spark streams AvailableNow, {records / _MILLION:g} M of 100 B, {topic.words}"
    answers: list[list[Answer]] = [[], []]
    for _ in range(rounds):
        for number, side in enumerate(both):
            answer = side.ask("available_now", manager=side.manager, **options)
            if answer["found"] != records:
                raise RuntimeError(f"{side.where} streams {answer['found']} of {records}")
            answers[number].append(answer)
    ours, theirs = (records / _MILLION / min(each["seconds"] for each in side) for side in answers)
    yield Figure(
        name=name,
        value=ours,
        unit="M records/s",
        peer=PEER,
        peer_value=theirs,
        ratio=ours / theirs,
        goal=topic.goal,
    )
    ours, theirs = (
        min(each["processor"] for each in side) / records * _MILLION for side in answers
    )
    yield Figure(
        name=f"{name}, processor",
        value=ours,
        unit="s/M records",
        peer=PEER,
        peer_value=theirs,
        ratio=theirs / max(ours, 1e-9),
    )


def _micro_batches(
    both: tuple[StreamSide, StreamSide], size: StreamSize, rounds: int, *, tasks: int
) -> Iterator[Figure]:
    """Yield the median of a batch next to the peer as delivered, and to its other manager."""
    options = {"subscribe": "single", "minPartitions": str(tasks)}
    options["maxOffsetsPerTrigger"] = str(size.single // size.batches)
    ours, delivered, managed = list[int](), list[int](), list[int]()
    for _ in range(rounds):
        ours.append(both[0].ask("micro_batch_ms", manager=LOCAL_MANAGER, **options)["found"])
        delivered.append(both[1].ask("micro_batch_ms", **options)["found"])
        managed.append(both[1].ask("micro_batch_ms", manager=THEIR_MANAGER, **options)["found"])
    records = size.single // size.batches
    name = f"Spark micro-batch of {records} records, {tasks} task{'s' * (tasks > 1)}"
    for words, theirs, goal in (("", delivered, 1.0), (", same file manager", managed, None)):
        yield Figure(
            name=f"{name}{words}",
            value=min(ours),
            unit="ms",
            peer=PEER,
            peer_value=min(theirs),
            ratio=min(theirs) / max(min(ours), 1),
            goal=goal,
            bound=Bound.RATIO,
        )


def _fill(broker: Peer, size: StreamSize) -> None:
    with (
        cordwood.Admin(broker.bootstrap) as admin,
        cordwood.Producer(broker.bootstrap) as producer,
    ):
        for name, records, partitions in (
            ("streamed", size.streamed, PARTITIONS),
            ("single", size.single, 1),
        ):
            admin.create_topic(name, partitions=partitions, configs=KEPT)
            fill(producer, name, records, value_bytes=_VALUE_BYTES, partitions=partitions)


def _sides(stack: ExitStack, broker: Peer, folder: Path) -> tuple[StreamSide, StreamSide]:
    python, jars = connector()
    commands = (
        [sys.executable, _SESSION, "cordwood", f"{UNIX_SOCKETS}=true"],
        [python, _SESSION, "kafka", jars],
    )
    sessions = [
        Program(command, folder / f"session-{number}.txt")
        for number, command in enumerate(commands)
    ]
    for each in sessions:
        stack.callback(each.close)
    return (
        StreamSide(sessions[0], {"path": str(broker.folder / "logs")}, LOCAL_MANAGER),
        StreamSide(sessions[1], {"kafka.bootstrap.servers": broker.bootstrap}, ""),
    )


if __name__ == "__main__":
    keep(figures(FULL if "--full" in sys.argv else SMALL))
