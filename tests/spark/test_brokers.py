"""Reads from a broker, and from a broker with its log directory."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cordwood
import cordwood.spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECORDS = 300

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def address(data: Path) -> Iterator[str]:
    """Start a broker with a topic of two partitions, in small segments."""
    with cordwood.Broker(data) as broker:
        with cordwood.Admin(broker.address) as admin:
            admin.create_topic("orders", partitions=2, configs={"internal.segment.bytes": "2000"})
        with cordwood.Producer(broker.address, batch_size=300) as producer:
            for number in range(RECORDS):
                producer.send("orders", b"%99d" % number, partition=number % 2)
        yield broker.address


def _frame(spark: "SparkSession", options: Mapping[str, str]) -> "DataFrame":
    return spark.read.format("cordwood").options(**options).load()


def _values(frame: "DataFrame") -> list[int]:
    return sorted(int(row.value) for row in frame.select("value").collect())


def _of_brokers(address: str, **more: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": address, "subscribe": "orders", **more}


def test_topic_is_read_from_its_broker(spark: "SparkSession", address: str) -> None:
    frame = _frame(spark, _of_brokers(address))

    assert _values(frame) == list(range(RECORDS))
    assert frame.rdd.getNumPartitions() == 2


def test_broker_is_read_by_min_partitions_tasks(spark: "SparkSession", address: str) -> None:
    frame = _frame(spark, _of_brokers(address, minPartitions="6"))

    assert frame.rdd.getNumPartitions() == 6
    assert _values(frame) == list(range(RECORDS))


def test_offsets_limit_the_read_from_a_broker(spark: "SparkSession", address: str) -> None:
    more = {
        "startingOffsets": '{"orders": {"0": 10, "1": 150}}',
        "endingOffsets": '{"orders": {"0": 12, "1": -1}}',
    }

    assert _values(_frame(spark, _of_brokers(address, **more))) == [20, 22]


def test_history_is_read_from_segments_and_the_rest_from_the_broker(
    spark: "SparkSession", address: str, data: Path, tmp_path: Path
) -> None:
    for partition in ("orders-0", "orders-1"):
        (tmp_path / partition).mkdir()
        for log in sorted((data / partition).glob("*.log"))[:-1]:
            (tmp_path / partition / log.name).write_bytes(log.read_bytes())

    frame = _frame(spark, _of_brokers(address, path=str(tmp_path)))

    assert frame.rdd.getNumPartitions() == 4
    assert _values(frame) == list(range(RECORDS))


def test_scan_counts_the_records_of_brokers(spark: "SparkSession", address: str) -> None:
    assert cordwood.spark.scan(spark, **_of_brokers(address)).count() == RECORDS


def test_unknown_topic_is_rejected_with_the_nearest_name(
    spark: "SparkSession", address: str
) -> None:
    options = _of_brokers(address) | {"subscribe": "order"}

    with pytest.raises(Exception, match="topic 'order' does not exist; did you mean orders"):
        _frame(spark, options).count()
