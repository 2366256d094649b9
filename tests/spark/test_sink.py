"""The sink in a session: readers of the topics receive the rows of the DataFrame."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cordwood
from cordwood.records.murmur2 import partition_of_key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.timeout(600)

ROWS = """
    ('a', 'one', 'orders', 1, timestamp_millis(5), array(named_struct('key', 'h', 'value', X'0A'))),
    (null, null, 'returns', 0, timestamp_millis(7), null),
    ('', 'two', 'orders', 1, timestamp_millis(6), array(named_struct('key', 'n', 'value', null)))
"""
NAMES = ("key", "value", "topic", "partition", "timestamp", "headers")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[cordwood.Broker]:
    """Start a broker whose topics have two partitions."""
    with cordwood.Broker(tmp_path / "logs", config={"num.partitions": 2}) as broker:
        yield broker


def write(
    frame: "DataFrame", broker: cordwood.Broker, mode: str = "append", **options: str
) -> None:
    where = {"kafka.bootstrap.servers": broker.address, **options}
    frame.write.format("cordwood").mode(mode).options(**where).save()


def logs(spark: "SparkSession", tmp_path: Path, topic: str = "") -> "DataFrame":
    """Return the records of the logs, with the columns of the source."""
    reader = spark.read.format("cordwood").option("includeHeaders", "true")
    if topic:
        reader.option("subscribe", topic)
    return reader.load(str(tmp_path / "logs"))


def same_rows(frame: "DataFrame", other: "DataFrame") -> bool:
    """Return whether two frames have the same rows in any order."""
    return sorted(map(repr, frame.collect())) == sorted(map(repr, other.collect()))


def test_rows_are_read_as_they_were_written(
    spark: "SparkSession", broker: cordwood.Broker, tmp_path: Path
) -> None:
    frame = spark.sql(f"SELECT * FROM VALUES {ROWS} AS rows({', '.join(NAMES)})")

    write(frame, broker)

    found = logs(spark, tmp_path).selectExpr("string(key)", "string(value)", *NAMES[2:])
    assert same_rows(found, frame)


def test_rows_of_the_source_are_written_as_they_are(
    spark: "SparkSession", broker: cordwood.Broker, tmp_path: Path
) -> None:
    with cordwood.Producer(broker.address) as producer:
        for number in range(20):
            producer.send("orders", b"%d" % number, key=b"k%d" % number, headers=[("h", None)])

    write(logs(spark, tmp_path), broker, topic="copies")

    orders, copies = (logs(spark, tmp_path, each).drop("topic") for each in ("orders", "copies"))
    assert orders.count() == 20
    assert same_rows(orders, copies)


def test_rows_have_the_partitions_of_kafkas_producer(
    spark: "SparkSession", broker: cordwood.Broker, tmp_path: Path
) -> None:
    frame = spark.range(100).selectExpr("'k' || id AS key", "'v' AS value")

    write(frame, broker, topic="orders", **{"kafka.compression.type": "zstd"})

    found = logs(spark, tmp_path).select("key", "partition").collect()
    assert len(found) == 100
    assert all(row.partition == partition_of_key(bytes(row.key), 2) for row in found)


def test_unsupported_mode_is_rejected_with_the_supported_one(
    spark: "SparkSession", broker: cordwood.Broker
) -> None:
    frame = spark.range(1).selectExpr("'v' AS value")

    with pytest.raises(Exception, match='"Append"'):
        write(frame, broker, "errorifexists", topic="orders")
    with pytest.raises(Exception, match=r'use mode\("append"\)'):
        write(frame, broker, "overwrite", topic="orders")


def test_column_that_cannot_be_written_is_named_before_a_task_runs(
    spark: "SparkSession", broker: cordwood.Broker, tmp_path: Path
) -> None:
    with pytest.raises(Exception, match=r'value has type bigint.* col\("value"\).cast\("binary"\)'):
        write(spark.range(1).selectExpr("id AS value"), broker, topic="orders")

    assert not (tmp_path / "logs" / "orders-0").exists()


def test_rejected_record_is_reported_to_the_user(
    spark: "SparkSession", broker: cordwood.Broker
) -> None:
    frame = spark.range(1).selectExpr("repeat('v', 2000) AS value")

    with pytest.raises(Exception, match=r"max_request_size=1000; raise it here"):
        write(frame, broker, topic="orders", **{"kafka.max.request.size": "1000"})
