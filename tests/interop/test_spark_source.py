"""Rows of the source, compared with those of Spark's Kafka connector.

The same records are sent to Kafka 4.3 and to our broker: every codec, committed and aborted
transactions, headers, tombstones. Logs of old formats and with gaps are written into both.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import pytest

import cordwood
from cordwood.testing.spark_stream import SparkStream
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import Broker, kraft_broker, producer_settings, running
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle, Program
from tests.interop.kafka_harness.our_broker import cordwood_broker
from tests.interop.kafka_harness.spark import spark_program
from tests.interop.kafka_harness.spec import (
    CODECS,
    LEGACY_CODECS,
    Json,
    Spec,
    SpecRecord,
    renumbered,
)
from tests.unit.cli.commands import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.timeout(900)]

ISOLATIONS: Final = ("read_uncommitted", "read_committed")
SENT: Final = (*samples.plain(), *samples.nulls(), *samples.headers(), *samples.many())
PLACED: Final = ("v0", "v1", "holes", "transactions")
TOPICS: Final = (*CODECS, "stamped", "unwritten", *PLACED)
HOLES: Final = ((3, 4, 9), (40,), (41, 42), (900, 2_000), (70_000,))
COLUMNS: Final = (
    "topic",
    "partition",
    "offset",
    "hex(key)",
    "hex(value)",
    "unix_micros(timestamp)",
    "timestampType",
    "to_json(headers)",
)
ALL: Final = {"subscribePattern": "[a-z].*", "includeHeaders": "true"}

Rows: TypeAlias = list[tuple[object, ...]]


@dataclass(slots=True)
class Target:
    """A broker with the corpus, its directory, and the rows of Spark's connector."""

    broker: Broker
    expected: dict[str, dict[str, Rows]]


def _spec_bytes(oracle: Oracle, specs: list[Spec]) -> bytes:
    """Return consecutive batches; each spec continues at the next offset."""
    data, offset = b"", 0
    for spec in specs:
        records = renumbered(spec.records, first_offset=offset)
        data += oracle.write(replace(spec, records=records, base_offset=offset))
        offset = records[-1].offset + 1
    return data


def _compacted(oracle: Oracle) -> bytes:
    """Return a compacted log, with gaps inside batches and between them."""
    data = b""
    for codec, offsets in zip(CODECS, HOLES, strict=True):
        records = tuple(
            replace(record, offset=offset)
            for record, offset in zip(samples.plain(), offsets, strict=False)
        )
        data += oracle.write(Spec(records=records, codec=codec, base_offset=offsets[0]))
    return data


def _legacy(oracle: Oracle, magic: int) -> bytes:
    shapes = (samples.plain(), samples.nulls(), samples.many())
    return _spec_bytes(
        oracle,
        [
            Spec(records=records, magic=magic, codec=codec)
            for codec in LEGACY_CODECS
            for records in shapes
        ],
    )


def _transactions(oracle: Oracle) -> bytes:
    """Return interleaved transactions of two producers: committed, aborted and open."""
    log = _Interleaved(oracle)
    log.send(1, samples.plain(), codec="lz4")
    log.send(2, samples.many(), codec="zstd")
    log.send(1, samples.headers(), codec="none")
    log.end(1, "COMMIT")
    log.send(1, samples.nulls(), codec="gzip")
    log.end(2, "ABORT")
    log.end(1, "ABORT")
    log.send(2, samples.headers(), codec="snappy")
    log.end(2, "COMMIT")
    log.send(1, samples.plain(), codec="none")
    log.send(2, samples.plain(), codec="none")
    log.end(2, "COMMIT")
    return bytes(log.data)


class _Interleaved:
    """A log with interleaved producers."""

    def __init__(self, oracle: Oracle) -> None:
        self.data = bytearray()
        self._oracle = oracle
        self._offset = 0
        self._sequences = {1: 0, 2: 0}

    def send(self, producer: int, records: tuple[SpecRecord, ...], *, codec: str) -> None:
        spec = Spec(
            records=renumbered(records, first_offset=self._offset),
            codec=codec,
            base_offset=self._offset,
            partition_leader_epoch=0,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=self._sequences[producer],
            transactional=True,
        )
        self.data += self._oracle.write(spec)
        self._offset += len(records)
        self._sequences[producer] += len(records)

    def end(self, producer: int, kind: str) -> None:
        place: dict[str, Json] = {
            "base_offset": self._offset,
            "partition_leader_epoch": 0,
            "producer_id": producer,
            "producer_epoch": 0,
        }
        self.data += self._oracle.ask_bytes("marker", {**samples.marker(kind), **place})
        self._offset += 1


def _fill(broker: Broker) -> None:
    """Send all records, delete the start of one log, and write the other logs."""
    oracle, bootstrap = broker.oracle, broker.bootstrap
    with running(broker):
        configs = {"stamped": {"message.timestamp.type": "LogAppendTime"}}
        broker.create_topics({topic: configs.get(topic, {}) for topic in TOPICS})
        oracle.ask("grow_topic", {"bootstrap": bootstrap, "topic": "unwritten", "partitions": 3})
        for codec in CODECS:
            oracle.produce(bootstrap, codec, SENT, producer_settings(codec, is_idempotent=True))
        oracle.produce(bootstrap, "stamped", samples.plain(), producer_settings("lz4"))
        oracle.delete_records(bootstrap, "gzip", 100)
    logs = (_legacy(oracle, 0), _legacy(oracle, 1), _compacted(oracle), _transactions(oracle))
    for topic, data in zip(PLACED, logs, strict=True):
        broker.place_segment(topic, data)


def _by_topic(rows: list[list[object]]) -> dict[str, Rows]:
    """Return rows by topic, in the order of partitions and offsets."""
    found: dict[str, Rows] = {}
    for row in sorted(map(tuple, rows), key=lambda row: row[:3]):
        found.setdefault(cast("str", row[0]), []).append(row)
    return found


@pytest.fixture(scope="module")
def connector(kafka43: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Start Spark's connector; `kafka43` skips the test without Java."""
    program, _ = spark_program(tmp_path_factory.mktemp("connector"))
    yield program
    program.close()


@pytest.fixture(scope="module", params=("kafka", "cordwood"))
def target(
    request: pytest.FixtureRequest,
    kafka43_jars: Jars,
    kafka43: Oracle,
    connector: Program,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Target]:
    """Start a broker with the corpus, and read it with the connector."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "kafka":
        broker = kraft_broker(kafka43_jars, folder, kafka43)
    else:
        broker = cordwood_broker(folder, kafka43)
    _fill(broker)
    with running(broker):
        yield Target(broker, {each: _seen(connector, broker, each) for each in ISOLATIONS})


def _seen(connector: Program, broker: Broker, isolation: str) -> dict[str, Rows]:
    options: dict[str, Json] = {**ALL, "kafka.isolation.level": isolation}
    question: dict[str, Json] = {"bootstrap": broker.bootstrap, "options": options}
    question["columns"] = list(COLUMNS)
    return _by_topic(cast("list[list[object]]", connector.ask("rows", question)))


def _from_segments(target: Target) -> dict[str, str]:
    return {"path": str(target.broker.logs)}


def _from_broker(target: Target) -> dict[str, str]:
    return {"kafka.bootstrap.servers": target.broker.bootstrap}


def _from_both(target: Target) -> dict[str, str]:
    return {**_from_segments(target), **_from_broker(target)}


Place: TypeAlias = Callable[[Target], dict[str, str]]


@pytest.mark.parametrize("place", (_from_segments, _from_broker, _from_both))
@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_rows_equal_those_of_sparks_connector(
    spark: "SparkSession", target: Target, place: Place, isolation: str
) -> None:
    options = {**ALL, **place(target), "isolation.level": isolation}

    rows = spark.read.format("cordwood").options(**options).load().selectExpr(*COLUMNS).collect()

    seen = _by_topic([list(row) for row in rows])
    assert {topic: len(found) for topic, found in seen.items()} == {
        topic: len(found) for topic, found in target.expected[isolation].items()
    }
    assert seen == target.expected[isolation]


Batches: TypeAlias = list[Rows]


def _numbered(found: dict[int, list[list[object]]]) -> Batches:
    """Return the rows of each batch with rows, in the order of partitions and offsets."""
    ordered = (found[number] for number in sorted(found))
    return [sorted(map(tuple, rows), key=lambda row: row[:3]) for rows in ordered if rows]


@dataclass(frozen=True, slots=True)
class Streams:
    """The same stream by both connectors; each has a checkpoint of its own in the folder."""

    spark: "SparkSession"
    connector: Program
    broker: Broker
    folder: Path

    def theirs(self, options: dict[str, str]) -> Batches:
        """Return the batches of one AvailableNow query of Spark's connector."""
        question: dict[str, Json] = {
            "bootstrap": self.broker.bootstrap,
            "options": {"startingOffsets": "earliest", **options},
            "columns": list(COLUMNS),
            "checkpoint": str(self.folder / "theirs"),
        }
        found = cast("dict[str, list[list[object]]]", self.connector.ask("batches", question))
        return _numbered({int(number): rows for number, rows in found.items()})

    def ours(self, options: dict[str, str]) -> Batches:
        """Return the batches of one AvailableNow query of ours."""
        stream = SparkStream(self.spark, self.folder, {"startingOffsets": "earliest", **options})
        stream.through = lambda frame: frame.selectExpr(*COLUMNS)
        stream.run()
        return _numbered(
            {number: [list(row) for row in rows] for number, rows in stream.batches.items()}
        )


@pytest.mark.parametrize(
    ("target", "isolation", "place"),
    (
        ("kafka", "read_committed", _from_both),
        ("cordwood", "read_uncommitted", _from_segments),
    ),
    indirect=["target"],
)
def test_batches_of_streams_equal_those_of_sparks_connector(  # fixtures
    spark: "SparkSession",
    connector: Program,
    target: Target,
    tmp_path: Path,
    isolation: str,
    place: Place,
) -> None:
    streams = Streams(spark, connector, target.broker, tmp_path)
    options = {**ALL, "maxOffsetsPerTrigger": "25000"}

    theirs = streams.theirs({**options, "kafka.isolation.level": isolation})
    ours = streams.ours({**options, **place(target), "isolation.level": isolation})

    assert [len(rows) for rows in ours] == [len(rows) for rows in theirs]
    assert ours == theirs
    assert len(theirs) > 2


def test_streams_follow_growth_and_continue_checkpoints_as_sparks_connector_does(
    spark: "SparkSession", connector: Program, target: Target, tmp_path: Path
) -> None:
    streams = Streams(spark, connector, target.broker, tmp_path)
    options = {"subscribePattern": "Grown.*", "includeHeaders": "true"}
    limited = {**options, "maxOffsetsPerTrigger": "37"}
    with cordwood.Admin(target.broker.bootstrap) as admin:
        admin.create_topic("Grown", partitions=1)
        found = [_step(streams, limited, _from_broker(target), range(50), partitions=1)]
        admin.create_partitions("Grown", 3)
        admin.create_topic("Grown-too", partitions=1)
        found.append(_step(streams, limited, _from_both(target), range(50, 131), partitions=3))
        found.append(_step(streams, options, _from_segments(target), range(131, 140), partitions=3))
        shutil.copytree(tmp_path / "theirs", tmp_path / "taken over" / "checkpoint")
        successor = replace(streams, folder=tmp_path / "taken over")
        _send(target.broker, range(140, 170), partitions=3)
        found.append((streams.theirs(options), successor.ours({**options, **_from_both(target)})))
        admin.delete_topic("Grown")
        admin.delete_topic("Grown-too")

    for theirs, ours in found:
        assert ours == theirs
    assert [len(theirs) > 1 for theirs, _ in found] == [True, True, False, False]
    assert len(found[-1][0][0]) == 30


def _send(broker: Broker, values: range, *, partitions: int, topic: str = "Grown") -> None:
    with cordwood.Producer(broker.bootstrap) as producer:
        for number in values:
            producer.send(topic, b"%d" % number, partition=number % partitions)


def _step(
    streams: Streams,
    options: dict[str, str],
    place: dict[str, str],
    values: range,
    *,
    partitions: int,
) -> tuple[Batches, Batches]:
    """Send values, and return the batches that both streams then have."""
    _send(streams.broker, values, partitions=partitions)
    return streams.theirs(options), streams.ours({**options, **place})


def _without_commit(checkpoint: Path, batch: int) -> None:
    """Leave the checkpoint as a driver does that dies while the batch runs."""
    for folder, first in (("offsets", batch + 1), ("commits", batch)):
        for path in (checkpoint / folder).iterdir():
            name = path.name.removeprefix(".").removesuffix(".crc")
            if name.isdecimal() and int(name) >= first:
                path.unlink()


def test_unfinished_first_batch_is_taken_over_and_given_back(
    spark: "SparkSession",
    connector: Program,
    target: Target,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    streams = Streams(spark, connector, target.broker, tmp_path)
    options = {"subscribe": "Grown", "includeHeaders": "true", "maxOffsetsPerTrigger": "20"}
    begun = {**options, "startingOffsets": '{"Grown": {"0": 7}}'}
    with cordwood.Admin(target.broker.bootstrap) as admin:
        admin.create_topic("Grown", partitions=1)
    _send(target.broker, range(50), partitions=1)
    theirs = streams.theirs(begun)
    _without_commit(tmp_path / "theirs", 0)
    (tmp_path / "ours").mkdir()
    shutil.copytree(tmp_path / "theirs", tmp_path / "ours" / "checkpoint")
    checkpoint = str(tmp_path / "ours" / "checkpoint")

    taken = run(("spark", "checkpoint", "adopt", checkpoint), monkeypatch, capfd)
    successor = replace(streams, folder=tmp_path / "ours")
    ours = successor.ours({**options, **_from_both(target)})
    _without_commit(tmp_path / "ours" / "checkpoint", 0)
    given = run(("spark", "checkpoint", "adopt", checkpoint, "--to-kafka"), monkeypatch, capfd)
    shutil.copytree(checkpoint, tmp_path / "back" / "theirs")
    back = replace(streams, folder=tmp_path / "back").theirs(options)
    with cordwood.Admin(target.broker.bootstrap) as admin:
        admin.delete_topic("Grown")

    assert (taken.code, given.code) == (0, 0), (taken.err, given.err)
    assert ours == theirs
    assert back == theirs
    assert [len(rows) for rows in theirs] == [20, 20, 3]


def test_streams_go_on_without_a_deleted_topic_as_sparks_connector_does(
    spark: "SparkSession", connector: Program, target: Target, tmp_path: Path
) -> None:
    streams = Streams(spark, connector, target.broker, tmp_path)
    options = {"subscribePattern": "Grown.*", "includeHeaders": "true", "failOnDataLoss": "false"}
    gaps = {"gapTable": str(tmp_path / "gaps")}
    with cordwood.Admin(target.broker.bootstrap) as admin:
        for topic in ("Grown", "Grown-too"):
            admin.create_topic(topic, partitions=1)
        _send(target.broker, range(10), partitions=1, topic="Grown-too")
        place = {**_from_broker(target), **gaps}
        found = [_step(streams, options, place, range(10), partitions=1)]
        admin.delete_topic("Grown-too")
        found.append(_step(streams, options, place, range(10, 25), partitions=1))
        admin.delete_topic("Grown")

    assert [sum(map(len, theirs)) for theirs, _ in found] == [20, 15]
    for theirs, ours in found:
        assert ours == theirs


def test_recreated_topic_is_read_on_by_sparks_connector_and_refused_by_ours(
    spark: "SparkSession", connector: Program, target: Target, tmp_path: Path
) -> None:
    from pyspark.errors import PySparkException  # noqa: PLC0415  # an extra

    streams = Streams(spark, connector, target.broker, tmp_path)
    options, place = {"subscribe": "Grown", "includeHeaders": "true"}, _from_broker(target)
    with cordwood.Admin(target.broker.bootstrap) as admin:
        admin.create_topic("Grown", partitions=1)
        first = _step(streams, options, place, range(10), partitions=1)
        admin.delete_topic("Grown")
        admin.create_topic("Grown", partitions=1)
        _send(target.broker, range(100, 115), partitions=1)
        theirs = streams.theirs(options)
        with pytest.raises(PySparkException, match="Grown: the topic was deleted and created"):
            streams.ours({**options, **place})
        ours = streams.ours({**options, **place, "onRecreatedTopic": "restart"})
        admin.delete_topic("Grown")

    assert first[0] == first[1]
    assert sum(map(len, theirs)) == 5, "ten new records are skipped in silence"
    assert sum(map(len, ours)) == 15


def test_corpus_has_the_difficult_cases(target: Target) -> None:
    decided, all_ = (target.expected[each] for each in reversed(ISOLATIONS))

    assert set(all_) == set(TOPICS) - {"unwritten"}
    assert len(all_["transactions"]) - len(decided["transactions"]) > len(samples.many())
    assert len(all_["gzip"]) == len(SENT) - 100
    assert {row[6] for rows in all_.values() for row in rows} == {-1, 0, 1}
