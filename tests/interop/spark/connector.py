"""Spark's Kafka connector as a program: a JSON line in, a JSON line out.

    connector.py JARS        JARS are the connector's, as for `spark.jars`

It runs in a virtual environment that contains only pyspark.
"""

import json
import os
import sys
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import suppress
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, TypedDict

from pyspark.sql import DataFrame, Row, SparkSession

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

#: The driver asks a consumer of a group for offsets, instead of the admin client.
JOINS = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
TOO_LARGE = 10
SCHEMA = "partition int, key binary, value binary, headers array<struct<key string, value binary>>"

Verb = Callable[[SparkSession, "Question"], object]


class Record(TypedDict):
    """A record as JSON: bytes are base64."""

    offset: int
    timestamp: int
    key: str | None
    value: str | None
    headers: list[tuple[str, str | None]]


class Question(TypedDict, total=False):
    """A request with its arguments."""

    ask: str
    bootstrap: str
    group: str
    isolation: str
    topic: str
    partition: int
    start: int
    records: list[Record]
    settings: dict[str, object]
    options: dict[str, str]
    columns: list[str]
    partitions: int
    wanted: list[str]
    patience_ms: int
    checkpoint: str


class Living:
    """A streaming query that is never restarted; it keeps all values in their order."""

    def __init__(self) -> None:
        self._seen: list[tuple[int, str]] = []
        self._changed = threading.Condition()
        self._query: StreamingQuery | None = None

    def start(self, spark: SparkSession, question: Question) -> None:
        topic, numbers = question["topic"], list(range(question["partitions"]))
        options = {
            "kafka.bootstrap.servers": question["bootstrap"],
            "assign": json.dumps({topic: numbers}),
            "startingOffsets": "earliest",
        }
        frame = spark.readStream.format("kafka").options(**options).load()
        values = frame.selectExpr("partition", "offset", "cast(value AS string) AS value")
        writer = values.writeStream.foreachBatch(self._keep)
        writer = writer.option("checkpointLocation", mkdtemp())
        self._query = writer.trigger(processingTime="100 milliseconds").start()
        threading.Thread(target=self._wait, daemon=True).start()

    def seen(self, _: SparkSession, question: Question) -> dict[str, object]:
        """Return all values when the wanted ones are among them, or after a time."""
        wanted = set(question["wanted"])
        with self._changed:
            self._changed.wait_for(
                lambda: self._problem() or wanted <= {value for _, value in self._seen},
                question["patience_ms"] / 1000,
            )
            return {"seen": self._seen, "problem": self._problem()}

    def _keep(self, batch: DataFrame, _number: int) -> None:
        rows = sorted(batch.collect(), key=lambda row: (row.partition, row.offset))
        with self._changed:
            self._seen += [(row.partition, row.value) for row in rows]
            self._changed.notify_all()

    def _problem(self) -> str:
        assert self._query is not None, "started"
        is_over = not self._query.isActive
        return str(self._query.exception() or "ended")[:2000] if is_over else ""

    def _wait(self) -> None:
        assert self._query is not None, "started"
        with suppress(Exception):  # `_problem` returns it
            self._query.awaitTermination()
        with self._changed:
            self._changed.notify_all()


LIVING = Living()


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", sys.argv[1])
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", 1)
        .getOrCreate()
    )
    verbs: dict[str, Verb] = {
        "produce": produce,
        "consume": consume,
        "rows": rows,
        "stream": stream,
        "batches": batches,
        "subscribe": subscribe,
        "living_start": LIVING.start,
        "living_seen": LIVING.seen,
    }
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer: dict[str, object] = {"answer": verbs[question["ask"]](spark, question)}
        except Exception as error:  # noqa: BLE001 - the caller receives any error
            code = TOO_LARGE if "RecordTooLargeException" in str(error) else None
            answer = {"failed": str(error)[:2000], "kind": type(error).__name__, "code": code}
        print(json.dumps(answer), file=answers, flush=True)


def produce(spark: SparkSession, question: Question) -> None:
    rows = [
        (
            question["partition"],
            _bytes(record["key"]),
            _bytes(record["value"]),
            [(name, _bytes(value)) for name, value in record["headers"]] or None,
        )
        for record in question["records"]
    ]
    settings = {f"kafka.{name}": str(value) for name, value in question["settings"].items()}
    settings["kafka.bootstrap.servers"] = question["bootstrap"]
    settings["kafka.enable.idempotence"] = settings["kafka.enable.idempotence"].lower()
    frame = spark.createDataFrame(rows, SCHEMA).coalesce(1)
    frame.write.format("kafka").options(**settings, topic=question["topic"]).save()


def consume(spark: SparkSession, question: Question) -> list[Record]:
    frame = spark.read.format("kafka").options(**_place(question)).load()
    return _records(frame.collect())


def rows(spark: SparkSession, question: Question) -> list[list[object]]:
    """Return rows; the columns are SQL expressions with JSON types."""
    options = {**question["options"], "kafka.bootstrap.servers": question["bootstrap"]}
    frame = spark.read.format("kafka").options(**options).load()
    return [list(row) for row in frame.selectExpr(*question["columns"]).collect()]


def stream(spark: SparkSession, question: Question) -> list[Record]:
    """Return all records, with a streaming query that ends at the current end."""
    seen: list[Row] = []

    def keep(batch: DataFrame, _number: int) -> None:
        seen.extend(batch.collect())

    options = {**_place(question), "maxOffsetsPerTrigger": "7"}
    frame = spark.readStream.format("kafka").options(**options).load()
    with TemporaryDirectory() as folder:
        query = (
            frame.writeStream.foreachBatch(keep)
            .option("checkpointLocation", folder)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    return _records(seen)


def batches(spark: SparkSession, question: Question) -> dict[int, list[list[object]]]:
    """Return the rows of each batch of an AvailableNow query, which continues its checkpoint."""
    seen: dict[int, list[list[object]]] = {}

    def keep(batch: DataFrame, number: int) -> None:
        seen[number] = [list(row) for row in batch.selectExpr(*question["columns"]).collect()]

    options = {**question["options"], "kafka.bootstrap.servers": question["bootstrap"]}
    frame = spark.readStream.format("kafka").options(**options).load()
    writer = frame.writeStream.foreachBatch(keep)
    writer = writer.option("checkpointLocation", question["checkpoint"])
    writer.trigger(availableNow=True).start().awaitTermination()
    return seen


def subscribe(spark: SparkSession, question: Question) -> list[str | None]:
    """Return the values of a topic; the driver finds them as a member of a group."""
    options = {
        "kafka.bootstrap.servers": question["bootstrap"],
        "kafka.group.id": question["group"],
        "subscribe": question["topic"],
    }
    spark.conf.set(JOINS, "true")
    try:
        rows = spark.read.format("kafka").options(**options).load().collect()
    finally:
        spark.conf.unset(JOINS)
    return [_text(row.value) for row in sorted(rows, key=lambda row: row.offset)]


def _place(question: Question) -> dict[str, str]:
    topic, partition = question["topic"], question["partition"]
    return {
        "kafka.bootstrap.servers": question["bootstrap"],
        "assign": json.dumps({topic: [partition]}),
        "startingOffsets": json.dumps({topic: {str(partition): question["start"]}}),
        "includeHeaders": "true",
        "kafka.isolation.level": question.get("isolation", "read_uncommitted"),
    }


def _records(rows: list[Row]) -> list[Record]:
    return [
        Record(
            offset=row.offset,
            timestamp=round(row.timestamp.timestamp() * 1000),
            key=_text(row.key),
            value=_text(row.value),
            headers=[(each.key, _text(each.value)) for each in row.headers or ()],
        )
        for row in sorted(rows, key=lambda row: row.offset)
    ]


def _bytes(text: str | None) -> bytearray | None:
    return None if text is None else bytearray(b64decode(text))


def _text(data: bytearray | None) -> str | None:
    return None if data is None else b64encode(bytes(data)).decode()


if __name__ == "__main__":
    main()
