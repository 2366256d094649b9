"""Spark jobs on logs of Kafka 4.3: live, stopped, and cleaned by either cleaner.

Kafka's producers fill two compacted topics with every codec, nulls, headers and aborted
transactions. The topics are exported from the running broker, from its live directory, and from
both, and each table is audited against another source. Then they are replayed into new topics.

The broker stops, and jobs verify, convert and compact its directory. Kafka starts on the result,
appends records, and cleans the logs itself. The tables are audited again after each step.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from cordwood.compaction.cleaning_job import Verify
from cordwood.spark import jobs, scan
from cordwood.spark.jobs.compaction.compact_order import CompactJobOrder
from cordwood.spark.jobs.tables.offset_comparison import OffsetKind
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import (
    FAST_RESTART,
    Broker,
    kraft_broker,
    producer_settings,
)
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.spec import CODECS, SpecRecord, renumbered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cordwood.spark.jobs.table_audit.audit_report import Audit
    from cordwood.workbench.verify.findings import Verification

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.timeout(600)]

TOPICS: Final = ("plain", "transactions")
COPIES: Final = {topic: f"{topic}-copy" for topic in TOPICS}
PLACES: Final = ("broker", "directory", "both")
#: The source of each table, and the source of its audit.
TABLES: Final = {
    "parquet": ("broker", "directory"),
    "delta": ("directory", "both"),
    "iceberg": ("both", "broker"),
}
#: The next record rolls a segment, and a running cleaner cleans it at once.
COMPACTED: Final = {
    "cleanup.policy": "compact",
    "segment.ms": "1",
    "min.cleanable.dirty.ratio": "0.01",
}
_CLEANER: Final = (
    "log.cleaner.enable=false",
    "log.cleaner.enable=true\nlog.cleaner.backoff.ms=100",
)
#: A record whose timestamp rolls the segment.
ROLLING: Final = (replace(samples.plain()[0], timestamp=samples.NOON + 86_400_000),)

Read = dict[str, tuple[SpecRecord, ...]]


@dataclass(slots=True)
class JobRun:
    """Results of the run: records of Kafka's consumer under read_committed, and of the jobs."""

    sent: Read
    copied: Read = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    exported: dict[str, list[tuple[object, ...]]] = field(default_factory=dict)
    live: "dict[str, Audit]" = field(default_factory=dict)
    verified: "list[Verification]" = field(default_factory=list)
    compacted: Read = field(default_factory=dict)
    after_ours: "Audit | None" = None
    after_theirs: "Audit | None" = None
    words: str = ""


class SparkWorld:
    """A Kafka broker, a session, and the folder of the tables."""

    def __init__(self, broker: Broker, spark: "SparkSession", folder: Path) -> None:
        self.broker = broker
        self._spark = spark
        self._folder = folder

    def options(self, place: str) -> dict[str, str]:
        options = {"subscribe": ",".join(TOPICS), "includeHeaders": "true"}
        if place != "broker":
            options["path"] = str(self.broker.logs)
        if place != "directory":
            options["kafka.bootstrap.servers"] = self.broker.bootstrap
        return options

    def read(self, topics: "tuple[str, ...] | list[str]" = TOPICS) -> Read:
        ask, bootstrap = self.broker.oracle.consume, self.broker.bootstrap
        return {topic: ask(bootstrap, topic, "read_committed") for topic in topics}

    def produce(self) -> None:
        oracle, bootstrap = self.broker.oracle, self.broker.bootstrap
        for codec in CODECS:
            sent = (*samples.plain(), *samples.headers(), *samples.many())
            settings = producer_settings(codec, is_idempotent=True)
            oracle.produce(bootstrap, "plain", sent, settings)
        decided = [(samples.plain(), True), (samples.many(), False), (samples.headers(), True)]
        settings = producer_settings("zstd", transactional_id="interop")
        oracle.produce_transactions(bootstrap, "transactions", [*decided, *decided[:2]], settings)

    def export(self, kind: str) -> None:
        options = self.options(TABLES[kind][0]) | self._address(kind)
        jobs.export(self._spark, self._table(kind), options=options)

    def audit(self, kind: str, place: str) -> "Audit":
        options = self.options(place) | self._address(kind)
        del options["includeHeaders"]
        return jobs.audit(self._spark, self._table(kind), options=options)

    def rows(self) -> list[tuple[object, ...]]:
        """Return the rows of the Parquet folder, with the columns of the source."""
        frame = self._spark.read.parquet(self._table("parquet"))
        return sorted(tuple(row) for row in frame.selectExpr("topic", "offset", "key").collect())

    def count(self, place: str) -> int:
        options = self.options(place) | {"isolation.level": "read_committed"}
        return scan(self._spark, **options).count()

    def replay(self) -> None:
        for topic, copy in COPIES.items():
            to = {"kafka.bootstrap.servers": self.broker.bootstrap, "topic": copy}
            jobs.replay(self._spark, self.options("both") | {"subscribe": topic}, to=to)

    def convert(self) -> Path:
        out = self._folder / "converted"
        jobs.convert(self._spark, self._logs(), out=str(out), codec="zstd")
        return out

    def verify(self, *paths: str) -> "Verification":
        return jobs.verify(self._spark, paths or self._logs())

    def compact(self) -> None:
        order = CompactJobOrder(verify=Verify.ALWAYS, is_rolled=True)
        jobs.compact(self._spark, [str(self.broker.logs)], order=order)

    def _logs(self) -> list[str]:
        return [str(self.broker.partition(topic)) for topic in TOPICS]

    def _table(self, kind: str) -> str:
        return str(self._folder / kind)

    def _address(self, kind: str) -> dict[str, str]:
        return {"format": kind} | ({"table": "lake.logs"} if kind == "iceberg" else {})


def live(world: SparkWorld) -> JobRun:
    """Run the jobs on a running broker."""
    world.produce()
    seen = JobRun(world.read())
    for kind in TABLES:
        world.export(kind)
    seen.live = {kind: world.audit(kind, TABLES[kind][1]) for kind in TABLES}
    seen.exported = {"parquet": world.rows()}
    seen.counted = {place: world.count(place) for place in PLACES}
    world.replay()
    seen.copied = world.read(list(COPIES.values()))
    return seen


def stopped(world: SparkWorld, seen: JobRun) -> None:
    """Run the jobs on the broker's directory after it has stopped."""
    converted = world.convert()
    seen.verified = [world.verify(), world.verify(str(converted))]
    world.compact()
    seen.verified.append(world.verify())


def clean_by_kafka(world: SparkWorld) -> None:
    """Run Kafka's cleaner over the log, with more records."""
    world.produce()
    for topic in TOPICS:
        world.broker.oracle.produce(
            world.broker.bootstrap, topic, ROLLING, producer_settings("none")
        )
    sent, deadline = world.read(), time.monotonic() + PATIENCE_S
    wanted = {topic: len(last_of_each_key(sent[topic][:-1])) + 1 for topic in TOPICS}
    while {topic: len(read) for topic, read in world.read().items()} != wanted:
        assert time.monotonic() < deadline, "Kafka's cleaner has not cleaned"


@pytest.fixture(scope="module")
def lived(
    kafka43_jars: Jars,
    kafka43: Oracle,
    cordwood_spark: "SparkSession",
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[JobRun]:
    folder = tmp_path_factory.mktemp("kafka")
    broker = kraft_broker(kafka43_jars, folder, kafka43, FAST_RESTART)
    world = SparkWorld(broker, cordwood_spark, tmp_path_factory.mktemp("lake"))
    try:
        broker.start()
        broker.create_topics(
            {**dict.fromkeys(TOPICS, COMPACTED), **{copy: {} for copy in COPIES.values()}}
        )
        seen = live(world)
        broker.stop()
        stopped(world, seen)
        settings = folder / "server.properties"
        settings.write_text(settings.read_text().replace(*_CLEANER))
        mark = len(broker.servers[-1].log.read_text())
        broker.start()
        seen.words = broker.servers[-1].log.read_text()[mark:]
        seen.compacted = world.read()
        seen.after_ours = world.audit("parquet", "directory")
        clean_by_kafka(world)
        seen.after_theirs = world.audit("delta", "both")
        yield seen
    finally:
        broker.stop()


def last_of_each_key(records: tuple[SpecRecord, ...]) -> list[SpecRecord]:
    last = {record.key: record.offset for record in records}
    return [record for record in records if last[record.key] == record.offset]


def test_tables_have_the_records_of_kafkas_consumer(lived: JobRun) -> None:
    """Each table is audited against another source than it was exported from."""
    expected = [(topic, each.offset, each.key) for topic in TOPICS for each in lived.sent[topic]]
    assert lived.exported["parquet"] == expected
    assert dict.fromkeys(PLACES, len(expected)) == lived.counted
    for kind, found in lived.live.items():
        assert found.is_whole, f"{kind}: {found}"
        assert sum(each.compared.proven for each in found.partitions) == len(expected)


def test_replayed_copies_have_the_records_of_kafkas_consumer(lived: JobRun) -> None:
    for topic, copy in COPIES.items():
        sent = renumbered(lived.sent[topic], first_offset=0)
        assert renumbered(lived.copied[copy], first_offset=0) == sent


def test_directories_have_no_damage_before_and_after(lived: JobRun) -> None:
    for found in lived.verified:
        assert not found.is_damaged, str(found)
        assert len(found.partitions) == len(TOPICS)


def test_kafka_starts_on_a_log_compacted_by_a_job(lived: JobRun) -> None:
    for topic in TOPICS:
        assert list(lived.compacted[topic]) == last_of_each_key(lived.sent[topic])
    assert not [word for word in ("LogLoader", "ERROR", "corrupt") if word in lived.words]


@pytest.mark.parametrize("cleaner", ("after_ours", "after_theirs"))
def test_table_rows_removed_from_the_log_by_a_cleaner_are_kept(lived: JobRun, cleaner: str) -> None:
    found: Audit = getattr(lived, cleaner)
    assert found.is_whole, str(found)
    for each in found.partitions:
        assert set(each.compared.kept) == {OffsetKind.COMPACTED}
