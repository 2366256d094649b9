"""Rows of the source, compared with those of Spark's Kafka connector.

The same records are sent to Kafka 4.3 and to our broker: every codec, committed and aborted
transactions, headers, tombstones. Logs of old formats and with gaps are written into both.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import pytest

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


def test_corpus_has_the_difficult_cases(target: Target) -> None:
    decided, all_ = (target.expected[each] for each in reversed(ISOLATIONS))

    assert set(all_) == set(TOPICS) - {"unwritten"}
    assert len(all_["transactions"]) - len(decided["transactions"]) > len(samples.many())
    assert len(all_["gzip"]) == len(SENT) - 100
    assert {row[6] for rows in all_.values() for row in rows} == {-1, 0, 1}
