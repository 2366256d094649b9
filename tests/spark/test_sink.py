"""The sink in a session: what a DataFrame has is what readers of the topics get."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cordwood

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = (
    "key string, value string, topic string, partition int, timestamp timestamp,"
    " headers array<struct<key: string, value: binary>>"
)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[cordwood.Broker]:
    """A broker with topics `orders` and `returns` of two partitions."""
    with cordwood.Broker(data=tmp_path / "logs") as broker, cordwood.Admin(broker.address) as admin:
        admin.create_topic("orders", partitions=2)
        admin.create_topic("returns", partitions=2)
        yield broker


def write(frame: "DataFrame", broker: cordwood.Broker, mode: str = "append", **options: str) -> None:
    where = {"kafka.bootstrap.servers": broker.address, **options}
    frame.write.format("cordwood").mode(mode).options(**where).save()


def rows(spark: "SparkSession", tmp_path: Path) -> "DataFrame":
    """What the logs hold, column by column as the source has them."""
    frame = spark.read.format("cordwood").option("includeHeaders", "true")
    return frame.load(str(tmp_path / "logs"))


def test_rows_are_read_as_they_were_written(
    spark: "SparkSession", broker: cordwood.Broker, tmp_path: Path
) -> None:
    second = "timestamp'2026-01-02 03:04:05.678'"
    frame = spark.sql(
        f"""SELECT * FROM VALUES
        ('a', 'one', 'orders', 1, {second}, array(named_struct('key', 'h', 'value', X'00FF'))),
        (null, null, 'returns', 0, {second}, null),
        ('', 'two', 'orders', 1, {second}, array(named_struct('key', 'n', 'value', null)))
        AS rows(key, value, topic, partition, timestamp, headers)"""
    ).coalesce(1)

    write(frame, broker)

    same = frame.schema.names
    found = rows(spark, tmp_path).selectExpr("string(key)", "string(value)", *same[2:])
    assert sorted(found.collect()) == sorted(frame.collect())
