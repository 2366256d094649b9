"""Streams over live directories, with and without brokers."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import cordwood
from cordwood.testing.spark_stream import SparkStream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def broker(tmp_path: Path) -> "Iterator[cordwood.Broker]":
    """Start a broker over a directory that the streams read."""
    with cordwood.Broker(tmp_path / "logs", config={"num.partitions": 2}) as broker:
        yield broker


def stream_of(spark: "SparkSession", tmp_path: Path, **options: str) -> SparkStream:
    places = {"path": str(tmp_path / "logs"), "startingOffsets": "earliest"}
    return SparkStream(spark, tmp_path, places | options)


def send(broker: cordwood.Broker, values: range) -> None:
    with cordwood.Producer(broker.address) as producer:
        for number in values:
            producer.send("orders", b"%d" % number, partition=number % 2)


def send_transaction(broker: cordwood.Broker, values: range, *, end: str) -> None:
    """Send a transaction to one partition, and end it or leave it open."""
    with cordwood.Producer(broker.address, transactional_id=f"{end}-{values.start}") as producer:
        producer.begin()
        for number in values:
            producer.send("orders", b"%d" % number, partition=0)
        producer.flush()
        match end:
            case "commit":
                producer.commit()
            case "abort":
                producer.abort()
            case _:
                producer.detach()


def values(stream: SparkStream) -> list[int]:
    return sorted(int(row.value) for row in stream.rows)


def test_live_directory_is_followed_without_a_broker(
    spark: "SparkSession", tmp_path: Path, broker: cordwood.Broker
) -> None:
    send(broker, range(10))
    stream = stream_of(spark, tmp_path)
    stream.start()
    stream.catch_up()
    assert values(stream) == list(range(10))

    send(broker, range(10, 40))
    stream.catch_up()
    stream.stop()
    send(broker, range(40, 50))
    stream.run()

    assert values(stream) == list(range(50))


def test_history_comes_from_segments_and_the_tail_from_brokers(
    spark: "SparkSession", tmp_path: Path, broker: cordwood.Broker
) -> None:
    send(broker, range(20))
    options = {"kafka.bootstrap.servers": broker.address, "subscribe": "orders"}
    stream = stream_of(spark, tmp_path, **options, maxOffsetsPerTrigger="6")
    stream.run()
    send(broker, range(20, 30))
    stream.run()

    assert values(stream) == list(range(30))
    assert all(len(rows) <= 6 for rows in stream.batches.values())


def test_committed_stream_ends_at_the_last_stable_offset(
    spark: "SparkSession", tmp_path: Path, broker: cordwood.Broker
) -> None:
    send_transaction(broker, range(10), end="commit")
    send_transaction(broker, range(10, 20), end="abort")
    send_transaction(broker, range(20, 25), end="open")
    send_transaction(broker, range(25, 30), end="commit")
    committed = {"isolation.level": "read_committed", "maxOffsetsPerTrigger": "4"}
    stream = stream_of(spark, tmp_path, **committed)
    stream.run()
    assert values(stream) == list(range(10))

    _abort_open(broker)
    stream.run()

    assert values(stream) == [*range(10), *range(25, 30)]


def test_small_batch_of_many_partitions_is_one_task_and_a_large_partition_several(
    spark: "SparkSession", tmp_path: Path, broker: cordwood.Broker
) -> None:
    send(broker, range(10))
    stream = stream_of(spark, tmp_path)
    tasks = list[int]()
    stream.through = lambda frame: frame
    frame = spark.readStream.format("cordwood").options(**stream.options).load()
    with TemporaryDirectory() as folder:
        query = (
            frame.writeStream.foreachBatch(
                lambda rows, _number: tasks.append(rows.rdd.getNumPartitions())
            )
            .option("checkpointLocation", folder)
            .trigger(availableNow=True)
        )
        query.start().awaitTermination()
        with cordwood.Producer(broker.address) as producer:
            for _ in range(1200):
                producer.send("orders", bytes(10_000), partition=0)
        query.start().awaitTermination()

    assert tasks[0] == 1
    assert tasks[1] >= 3


def _abort_open(broker: cordwood.Broker) -> None:
    """End the open transaction, as its next producer does."""
    with cordwood.Producer(broker.address, transactional_id="open-20") as producer:
        producer.init()
