"""Pipelines from topics to topics and tables: each row once, over restarts and lost commits."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from deltalake import DeltaTable

import cordwood
from cordwood.core.errors import SparkError
from cordwood.spark.pipeline import Pipeline, parse_pipeline, run_pipeline, start_pipeline
from cordwood.spark.pipeline.pipeline_state import pipeline_state, reset_pipeline
from cordwood.spark.pipeline.table_writer import TableWriter
from cordwood.testing.spark_kafka import SparkKafka

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = pytest.mark.timeout(600)

NUMBERS: Final = {"sql": "SELECT *, int(string(value)) AS number FROM input"}


def pipeline(
    spark_kafka: SparkKafka, folder: Path, sink: dict[str, str], *steps: dict[str, str]
) -> Pipeline:
    """Return a pipeline from the topic `orders`, with at most two records of a batch."""
    source = {
        "subscribe": "orders",
        "kafka.bootstrap.servers": spark_kafka.bootstrap,
        "maxOffsetsPerTrigger": "2",
    }
    name = f"{folder.name}-{sink['format']}"
    given = {"name": name, "source": source, "transform": steps, "sink": sink}
    return parse_pipeline(given, folder=str(folder))


def delta(folder: Path, **more: str) -> dict[str, str]:
    """Return a sink with a Delta table."""
    return {"format": "delta", "to": str(folder / "table"), **more}


def produce(spark_kafka: SparkKafka, *values: str | None, key: str = "k") -> None:
    """Produce values to the topic."""
    with cordwood.Producer(spark_kafka.bootstrap) as producer:
        for value in values:
            producer.send("orders", None if value is None else value.encode(), key=key.encode())


def numbers(folder: Path) -> list[int]:
    """Return the numbers in the Delta table."""
    found = DeltaTable(folder / "table").to_pyarrow_table().column("number")
    return sorted(found.to_pylist())


def test_pipeline_continues_at_its_checkpoint(spark_kafka: SparkKafka, tmp_path: Path) -> None:
    into_table = pipeline(spark_kafka, tmp_path, delta(tmp_path), NUMBERS)
    produce(spark_kafka, *map(str, range(5)))

    first = run_pipeline(spark_kafka.spark, into_table)
    produce(spark_kafka, "5")
    second = run_pipeline(spark_kafka.spark, into_table)

    assert (first.rows, first.batches, second.rows) == (5, 3, 1)
    assert numbers(tmp_path) == [*range(6)]
    newest = DeltaTable(tmp_path / "table").history(1)[0]
    assert json.loads(newest["cordwood.offsets"])["orders"] == {"0": 6}


@pytest.mark.parametrize("kind", ("delta", "iceberg", "parquet"))
def test_batch_that_spark_repeats_is_in_the_table_once(
    spark_kafka: SparkKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    sink = {**delta(tmp_path), "format": kind}
    if kind == "iceberg":
        sink["table"] = "shop.orders"
    into_table = pipeline(spark_kafka, tmp_path, sink, NUMBERS)
    produce(spark_kafka, "1", "2", "3")
    write = TableWriter.__call__

    def lose_the_commit_log(writer: TableWriter, frame: "DataFrame", batch_id: int) -> None:
        write(writer, frame, batch_id)
        raise ConnectionError("the driver ends after the commit of the table")

    with monkeypatch.context() as patch:
        patch.setattr(TableWriter, "__call__", lose_the_commit_log)
        with pytest.raises(SparkError, match="the driver ends after the commit"):
            run_pipeline(spark_kafka.spark, into_table)
    assert pipeline_state(into_table).state == "planned"
    assert pipeline_state(into_table).table_batch == 0

    run_pipeline(spark_kafka.spark, into_table)

    assert pipeline_state(into_table).state == "finished"
    assert _values(tmp_path, kind) == [1, 2, 3]


def _values(folder: Path, kind: str) -> list[int]:
    if kind == "delta":
        return numbers(folder)
    if kind == "parquet":
        import pyarrow.parquet as pq  # noqa: PLC0415  # for this kind alone

        return sorted(pq.read_table(folder / "table").column("number").to_pylist())
    from cordwood.spark.jobs.tables.export_table import TableAddress  # noqa: PLC0415  # as above
    from cordwood.spark.jobs.tables.iceberg_table import open_catalog  # noqa: PLC0415  # as above

    address = TableAddress(path=str(folder / "table"), format="iceberg", name="shop.orders")
    table = open_catalog(address).load_table("shop.orders")
    return sorted(table.scan().to_arrow().column("number").to_pylist())


def test_upsert_keeps_the_last_row_of_each_key(spark_kafka: SparkKafka, tmp_path: Path) -> None:
    into_table = pipeline(spark_kafka, tmp_path, delta(tmp_path, mode="upsert", key="key"), NUMBERS)
    for key, values in (("a", ("1", "2", "3")), ("b", ("4", None)), ("c", (None, "5"))):
        produce(spark_kafka, *values, key=key)

    run_pipeline(spark_kafka.spark, into_table)

    assert numbers(tmp_path) == [3, 5]
    produce(spark_kafka, None, key="a")
    run_pipeline(spark_kafka.spark, into_table)
    assert numbers(tmp_path) == [5]


def test_rows_and_dead_letters_go_to_their_topics(spark_kafka: SparkKafka, tmp_path: Path) -> None:
    sink = {"format": "kafka", "kafka.bootstrap.servers": spark_kafka.bootstrap}
    steps = (
        {"decode": "json", "columns": "id long"},
        {"encode": "json", "into": "out"},
        {"dead-letters": "dead", "topic": "good", "value": "out"},
    )
    for topic in ("good", "dead"):
        spark_kafka.kafka.create_topic(topic)
    produce(spark_kafka, '{"id": 1}', "?", '{"id": 2}')

    run_pipeline(spark_kafka.spark, pipeline(spark_kafka, tmp_path, sink, *steps))

    good, dead = (
        spark_kafka.frame(topic, includeHeaders="true").collect() for topic in ("good", "dead")
    )
    assert sorted(bytes(row.value) for row in good) == [b'{"id":1}', b'{"id":2}']
    assert [bytes(row.value) for row in dead] == [b"?"]
    places = {each.key: bytes(each.value) for each in dead[0].headers}
    assert places["__connect.errors.offset"] == b"1"


def test_pipelines_run_side_by_side_in_one_session(spark_kafka: SparkKafka, tmp_path: Path) -> None:
    produce(spark_kafka, "1", "2", "3")
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()

    queries = [
        start_pipeline(spark_kafka.spark, pipeline(spark_kafka, folder, delta(folder), NUMBERS))
        for folder in folders
    ]
    for query in queries:
        query.awaitTermination()

    assert [numbers(folder) for folder in folders] == [[1, 2, 3]] * 2


def test_reset_begins_a_new_query(spark_kafka: SparkKafka, tmp_path: Path) -> None:
    into_table = pipeline(spark_kafka, tmp_path, delta(tmp_path), NUMBERS)
    produce(spark_kafka, "1")
    assert pipeline_state(into_table).state == "new"
    run_pipeline(spark_kafka.spark, into_table)

    assert reset_pipeline(into_table)
    assert not reset_pipeline(into_table)

    run_pipeline(spark_kafka.spark, into_table)
    assert numbers(tmp_path) == [1, 1]
