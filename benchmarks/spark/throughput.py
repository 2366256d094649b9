"""How fast does Spark read a log, and write one, next to spark-sql-kafka over the same broker?

    make bench-spark          or: python -m benchmarks.spark.throughput [--full]

A broker of Kafka 4.3 holds topics of 4 partitions in batches of 16 KB. The connector
spark-sql-kafka 4.0.0, with its own Spark, reads them from the broker in at least four tasks. We
read the broker's directory in Spark 4.3. Both write to the same broker. Each side is a session of
two cores that was warmed by every question once; questions are asked in turns, and the best of the
rounds counts. Rows go to `noop`, so that nothing but reading is measured. Our session's
Python workers use unix sockets, as `cordwood doctor` recommends; the connector has no such workers.

Processor time is the session's, JVM and Python together, and the broker's next to it, without what
an idle broker uses in the same time. How many bytes a slice of the time reads is what
Python's workers have read by then, beyond what they do for a slice that has nothing.
To compare two commits, run it on both, one after the other, on a machine that does nothing else.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import cordwood
from benchmarks.figure import Bound, Figure
from benchmarks.kafka.peers import Peer, running_kafka
from benchmarks.results import keep
from cordwood.records.batch_builder import EncodedRecords
from cordwood.records.v2_record import append_v2_record
from cordwood.spark.runtime.stream_settings import UNIX_SOCKETS
from tests.interop.kafka_harness.oracle import Program
from tests.interop.kafka_harness.spark import VERSION, connector

if TYPE_CHECKING:
    from benchmarks.spark.session import Answer
    from cordwood.client.serializers import Plain
    from tests.interop.kafka_harness.spec import Json

PEER: Final = f"spark-sql-kafka {VERSION}"
ROUNDS: Final = 3
PARTITIONS: Final = 4
SESSION: Final = str(Path(__file__).with_name("session.py"))
#: Records of the past are kept for all that.
KEPT: Final = {"retention.ms": "-1"}
_MILLION: Final = 1e6
_BATCH_BYTES: Final = 16_000
_QUIET_S: Final = 5
_FIRST_MS: Final = 1_700_000_000_000
#: One part in N of the time.
_SLICE: Final = 100


class Size(NamedTuple):
    """How many records of 100 B there are, of 1 KB, of 100 B to be summed up, and to be written."""

    rows: int
    kilobytes: int
    many: int
    written: int


SMALL: Final = Size(400_000, 50_000, 1_000_000, 100_000)
FULL: Final = Size(4_200_000, 500_000, 20_000_000, 2_000_000)


class Topic(NamedTuple):
    """A topic that has been filled."""

    name: str
    records: int
    size: int


class Side(NamedTuple):
    """A session, and its format's options for the topics."""

    session: Program
    where: dict[str, str]

    def read(self, asked: str, topic: str, **options: str) -> "Answer":
        """Return what a question of a topic took."""
        question: dict[str, Json] = {"options": {**self.where, "subscribe": topic, **options}}
        return cast("Answer", self.session.ask(asked, question))

    def export(self, asked: str, topic: str, table: Path) -> "Answer":
        """Return what it took to make a table of a topic."""
        options: dict[str, Json] = {**self.where, "subscribe": topic}
        return cast("Answer", self.session.ask(asked, {"options": options, "table": str(table)}))

    def write(self, bootstrap: str, topic: str, rows: int) -> "Answer":
        """Return what it took to write rows of 100 B."""
        where: dict[str, Json] = {"kafka.bootstrap.servers": bootstrap, "topic": topic}
        question: dict[str, Json] = {"options": where, "rows": rows, "value_bytes": 100}
        return cast("Answer", self.session.ask("write", question))


def figures(size: Size = SMALL, rounds: int = ROUNDS) -> Iterator[Figure]:
    """Measure both sides in turns."""
    with ExitStack() as stack:
        broker, folder = stack.enter_context(running_kafka())
        topics = _filled(broker, size)
        both = _sides(stack, broker, folder)
        _agree(both, topics)
        bench = Bench(both, broker, rounds)
        yield from bench.reading("100 B", topics[0], goal=1.5)
        yield from bench.reading("1 KB", topics[1], goal=1.8)
        yield from bench.counting(topics[0])
        yield from bench.asking(topics[2])
        yield bench.slice(topics[2])
        yield from bench.exporting(topics[0])
        yield from bench.writing(size.written)


class Bench:
    """Both sides, and what they are asked."""

    def __init__(self, both: Sequence[Side], broker: Peer, rounds: int) -> None:
        self._both = both
        self._broker = broker
        self._rounds = rounds
        self._idle = _idle(broker)

    def reading(self, what: str, topic: Topic, *, goal: float) -> Iterator[Figure]:
        """All columns, what they cost the sessions, and what they cost the broker."""
        spent: list[list[float]] = [[], []]
        answers: list[list[Answer]] = [[], []]
        for _ in range(self._rounds):
            for number, side in enumerate(self._both):
                before = self._broker.processor_seconds()
                told = side.read("rows", topic.name)
                used = self._broker.processor_seconds() - before
                answers[number].append(told)
                spent[number].append(max(used - self._idle * told["seconds"], 0.0))
        name = f"Spark reads all columns, {what}"
        yield _rates(name, topic.records, answers, goal=goal)
        yield _costs(f"{name}, processor", topic.records, answers)
        ours, theirs = (min(each) / topic.records * _MILLION for each in spent)
        yield Figure(
            name=f"{name}, processor of the broker",
            value=ours,
            unit="s/M records",
            peer=PEER,
            peer_value=theirs,
            goal=0.05,
            bound=Bound.MOST,
        )

    def counting(self, topic: Topic) -> Iterator[Figure]:
        """Count by a DataFrame."""
        answers = self._in_turns(topic, "count", "count")
        yield _rates("Spark counts by a DataFrame, 100 B", topic.records, answers, goal=1.8)

    def asking(self, topic: Topic) -> Iterator[Figure]:
        """Yield the question answered in tasks, where the peer uses a DataFrame."""
        what = f"{topic.records / _MILLION:g} M of 100 B"
        counted = self._in_turns(topic, "scan_count", "count")
        yield _rates(f"Spark counts by a scan, {what}", topic.records, counted, goal=20)
        yield _costs(f"Spark counts by a scan, {what}, processor", topic.records, counted)
        summed = self._in_turns(topic, "scan_lengths", "lengths")
        yield _rates(f"Spark sums up by map_arrow, {what}", topic.records, summed, goal=10)
        yield _costs(f"Spark sums up by map_arrow, {what}, processor", topic.records, summed)

    def slice(self, topic: Topic) -> Figure:
        """The part of the bytes that a part of the time reads."""
        start = _FIRST_MS + topic.records // 2
        nothing, part = (
            self._both[0].read(
                "rows",
                topic.name,
                startingTimestamp=str(start),
                endingTimestamp=str(start + length),
            )
            for length in (0, topic.records // _SLICE)
        )
        read = part["read_bytes"] - nothing["read_bytes"]
        return Figure(
            name=f"Spark reads a hundredth of the time, of {topic.size / _MILLION:.0f} MB",
            value=100 * max(read, 0) / topic.size,
            unit="% of the bytes",
            goal=2,
            bound=Bound.MOST,
        )

    def exporting(self, topic: Topic) -> Iterator[Figure]:
        """A table of Parquet by a job, where theirs is what a DataFrame writes."""
        answers: list[list[Answer]] = [[], []]
        for _ in range(self._rounds):
            for which, asked in enumerate(("export", "write_parquet")):
                with tempfile.TemporaryDirectory() as folder:
                    answers[which].append(
                        self._both[which].export(asked, topic.name, Path(folder, "table"))
                    )
        name = "Spark exports to Parquet, 100 B"
        yield _rates(name, topic.records, answers, goal=4)
        yield _costs(f"{name}, processor", topic.records, answers)

    def writing(self, rows: int) -> Iterator[Figure]:
        """Rows of 100 B that Spark makes, into a topic of the same broker."""
        answers: list[list[Answer]] = [[], []]
        for number in range(self._rounds):
            for which, side in enumerate(self._both):
                topic = f"written-{which}-{number}"
                with cordwood.Admin(self._broker.bootstrap) as admin:
                    admin.create_topic(topic, partitions=PARTITIONS)
                answers[which].append(side.write(self._broker.bootstrap, topic, rows))
        name = "Spark writes, 100 B"
        yield _rates(name, rows, answers, goal=0.3, bound=Bound.VALUE)
        yield _costs(f"{name}, processor", rows, answers)

    def _in_turns(self, topic: Topic, ours: str, theirs: str) -> "list[list[Answer]]":
        """Return both sides' answers to what is each one's question."""
        answers: list[list[Answer]] = [[], []]
        for _ in range(self._rounds):
            for number, asked in enumerate((ours, theirs)):
                answers[number].append(self._both[number].read(asked, topic.name))
        return answers


def _rates(
    name: str,
    records: int,
    answers: "Sequence[Sequence[Answer]]",
    *,
    goal: float,
    bound: Bound = Bound.RATIO,
) -> Figure:
    ours, theirs = (records / _MILLION / min(each["seconds"] for each in side) for side in answers)
    return Figure(
        name=name,
        value=ours,
        unit="M records/s",
        peer=PEER,
        peer_value=theirs,
        ratio=ours / theirs,
        goal=goal,
        bound=bound,
    )


def _costs(name: str, records: int, answers: "Sequence[Sequence[Answer]]") -> Figure:
    """Return what a million records take of the processor; a ratio above 1 is better."""
    ours, theirs = (
        min(each["processor"] for each in side) / records * _MILLION for side in answers
    )
    return Figure(
        name=name,
        value=ours,
        unit="s/M records",
        peer=PEER,
        peer_value=theirs,
        ratio=theirs / max(ours, 1e-9),
    )


# -- what both sides need


def _idle(broker: Peer) -> float:
    """Return the processor time of an idle broker, per second."""
    before = broker.processor_seconds()
    sleep(_QUIET_S)
    return (broker.processor_seconds() - before) / _QUIET_S


def _filled(broker: Peer, size: Size) -> list[Topic]:
    with (
        cordwood.Admin(broker.bootstrap) as admin,
        cordwood.Producer(broker.bootstrap) as producer,
    ):
        found = []
        for name, records, value_bytes in (
            ("rows", size.rows, 100),
            ("kilobytes", size.kilobytes, 1024),
            ("many", size.many, 100),
        ):
            admin.create_topic(name, partitions=PARTITIONS, configs=KEPT)
            found.append(fill(producer, name, records, value_bytes=value_bytes))
    return found


def fill(
    producer: "cordwood.Producer[Plain, Plain]",
    topic: str,
    records: int,
    *,
    value_bytes: int,
    partitions: int = PARTITIONS,
) -> Topic:
    """Send batches to one partition after the other, a record a millisecond."""
    whole = _BATCH_BYTES // (value_bytes + 20)
    sent, size, last = 0, 0, []
    while sent < records:
        count = min(whole, records - sent)
        raw = _records(count, value_bytes)
        time = _FIRST_MS + sent
        batch = EncodedRecords(raw, count, time, time + count - 1)
        last.append(producer.send_batch(topic, batch, partition=sent // whole % partitions))
        sent, size = sent + count, size + len(raw)
    producer.flush()
    for each in last:
        each.result()
    return Topic(topic, records, size)


def _records(count: int, value_bytes: int) -> bytes:
    """Return records with a key of eight bytes, a millisecond after each other."""
    raw = bytearray()
    for number in range(count):
        append_v2_record(
            raw,
            timestamp_delta=number,
            offset_delta=number,
            key=b"%08d" % number,
            value=b"v" * value_bytes,
        )
    return bytes(raw)


def _sides(stack: ExitStack, broker: Peer, folder: Path) -> tuple[Side, Side]:
    python, jars = connector()
    commands = (
        [sys.executable, SESSION, "cordwood", f"{UNIX_SOCKETS}=true"],
        [python, SESSION, "kafka", jars],
    )
    sessions = [
        Program(command, folder / f"session-{number}.txt")
        for number, command in enumerate(commands)
    ]
    for each in sessions:
        stack.callback(each.close)
    at = {"kafka.bootstrap.servers": broker.bootstrap}
    theirs = {**at, "minPartitions": str(PARTITIONS)}
    return Side(sessions[0], {"path": str(broker.folder / "logs")}), Side(sessions[1], theirs)


def _agree(both: Sequence[Side], topics: Sequence[Topic]) -> None:
    """Warm both sides by their questions, and see that their answers are the same."""
    rows, kilobytes, many = topics
    for side, questions in zip(both, (("scan_count", "scan_lengths"), ()), strict=True):
        for topic in (rows, kilobytes):
            side.read("rows", topic.name)
        counts = {side.read(asked, many.name)["found"] for asked in ("count", *questions[:1])}
        sums = {side.read(asked, many.name)["found"] for asked in ("lengths", *questions[1:])}
        if (counts, sums) != ({many.records}, {100 * many.records}):
            raise RuntimeError(f"{side.where} finds {counts} records and {sums} bytes in {many}")


if __name__ == "__main__":
    keep(figures(FULL if "--full" in sys.argv else SMALL))
