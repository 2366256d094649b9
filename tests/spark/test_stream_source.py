"""Streams of the fixture's broker: triggers, limits, restarts, growth and recreated topics."""

import json
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.errors import PySparkException

import cordwood
from cordwood.cli.groups.describe_run import describe_offsets
from cordwood.core.errors import NotLeaderOrFollowerError

if TYPE_CHECKING:
    from cordwood.testing.spark_kafka import SparkKafka
    from cordwood.testing.spark_stream import SparkStream

pytestmark = pytest.mark.timeout(600)


def send(kafka: "SparkKafka", values: range, *, topic: str = "orders", partitions: int = 1) -> None:
    """Send numbers, one partition after the other."""
    with cordwood.Producer(kafka.bootstrap) as producer:
        for number in values:
            producer.send(topic, b"%d" % number, partition=number % partitions)


def values(stream: "SparkStream") -> list[int]:
    """Return the values of all batches, sorted."""
    return sorted(int(row.value) for row in stream.rows)


def sizes(stream: "SparkStream") -> list[int]:
    """Return the number of rows of each batch."""
    return [len(stream.batches[number]) for number in sorted(stream.batches)]


def end_of(stream: "SparkStream") -> dict[str, object]:
    """Return the end of the last batch in the checkpoint."""
    last = max(stream.checkpoint.glob("offsets/[0-9]*"), key=lambda path: int(path.name))
    found: dict[str, object] = json.loads(last.read_text().splitlines()[2])
    return found


def test_stream_follows_its_topic_and_continues_at_its_checkpoint(
    spark_kafka: "SparkKafka",
) -> None:
    spark_kafka.kafka.create_topic("orders", partitions=2)
    send(spark_kafka, range(10), partitions=2)
    with spark_kafka.stream("orders") as stream:
        stream.start()
        stream.catch_up()
        assert values(stream) == list(range(10))

        send(spark_kafka, range(10, 30), partitions=2)
        stream.catch_up()
        stream.stop()
        send(spark_kafka, range(30, 45), partitions=2)
        stream.start()
        stream.catch_up()

        assert values(stream) == list(range(45))
        assert sorted(stream.deliveries) == sorted(set(stream.deliveries))


def test_available_now_reads_in_limited_batches_and_stops_at_its_target(
    spark_kafka: "SparkKafka",
) -> None:
    spark_kafka.kafka.create_topic("orders", partitions=2)
    send(spark_kafka, range(100), partitions=2)
    with spark_kafka.stream("orders", maxOffsetsPerTrigger="30") as stream:
        stream.run()
        assert values(stream) == list(range(100))
        assert sizes(stream) == [30, 30, 30, 10]

        send(spark_kafka, range(100, 120), partitions=2)
        stream.run()
        stream.run()

        assert values(stream) == list(range(120))
        assert sizes(stream) == [30, 30, 30, 10, 20]


def test_trigger_once_ignores_the_limits(spark_kafka: "SparkKafka") -> None:
    send(spark_kafka, range(50))
    with spark_kafka.stream(
        "orders", maxOffsetsPerTrigger="7", maxBytesPerTrigger="100", minOffsetsPerTrigger="5"
    ) as stream:
        stream.run(once=True)

        assert sizes(stream) == [50]


def test_new_stream_starts_at_the_end_and_later_partitions_and_topics_at_their_start(
    spark_kafka: "SparkKafka",
) -> None:
    send(spark_kafka, range(5))
    with spark_kafka.stream("orders") as stream:
        del stream.options["subscribe"]
        stream.options |= {"subscribePattern": "orders.*", "startingOffsets": "latest"}
        stream.start()
        stream.catch_up()
        assert end_of(stream)["orders"] == {"0": 5}

        with cordwood.Admin(spark_kafka.bootstrap) as admin:
            admin.create_partitions("orders", 2)
            admin.create_topic("orders-eu", partitions=1)
        send(spark_kafka, range(5, 15), partitions=2)
        send(spark_kafka, range(15, 20), topic="orders-eu")
        stream.catch_up()

        assert values(stream) == list(range(5, 20))


def test_recreated_topic_is_refused_by_name_or_restarted(spark_kafka: "SparkKafka") -> None:
    send(spark_kafka, range(5))
    with spark_kafka.stream("orders") as stream:
        stream.run()
        with cordwood.Admin(spark_kafka.bootstrap) as admin:
            admin.delete_topic("orders")
            admin.create_topic("orders", partitions=1)
        send(spark_kafka, range(100, 109))

        with pytest.raises(PySparkException, match="orders: the topic was deleted and created"):
            stream.run()
        stream.options["onRecreatedTopic"] = "restart"
        stream.run()

        assert values(stream) == [*range(5), *range(100, 109)]


def test_deleted_offsets_are_refused_or_recorded(
    spark_kafka: "SparkKafka", tmp_path_factory: pytest.TempPathFactory
) -> None:
    gaps = tmp_path_factory.mktemp("gaps")
    send(spark_kafka, range(5))
    with spark_kafka.stream("orders") as stream:
        stream.run()
        send(spark_kafka, range(5, 20))
        with cordwood.Admin(spark_kafka.bootstrap) as admin:
            admin.delete_records({("orders", 0): 12})

        with pytest.raises(PySparkException, match="no source has offsets 5 to 11 of orders-0"):
            stream.run()
        stream.options |= {"gap": "record", "gapTable": str(gaps)}
        stream.run()

        assert values(stream) == [*range(5), *range(12, 20)]
        assert [each.name for each in gaps.iterdir()] == ["orders-0-5-12.parquet"]


def test_uncommitted_batch_is_repeated_with_the_same_records(spark_kafka: "SparkKafka") -> None:
    send(spark_kafka, range(20))
    with spark_kafka.stream(
        "orders", maxOffsetsPerTrigger="8", startingOffsets="earliest"
    ) as stream:
        stream.run()
        before = stream.batches[2], stream.batches[0]
        send(spark_kafka, range(20, 25))
        _uncommit(stream, 2)
        stream.run()

        assert stream.deliveries == [0, 1, 2, 2, 3]
        assert stream.batches[2] == before[0]
        assert values(stream) == list(range(25))


def test_uncommitted_batch_zero_is_repeated_with_the_same_records(
    spark_kafka: "SparkKafka",
) -> None:
    send(spark_kafka, range(20))
    with spark_kafka.stream("orders", startingOffsets='{"orders": {"0": 4}}') as stream:
        stream.run()
        stream.options["startingOffsets"] = "latest"
        send(spark_kafka, range(20, 25))
        _uncommit(stream, 0)
        stream.run()

        assert stream.deliveries == [0, 0, 1]
        assert values(stream) == list(range(4, 25))


def test_checkpoint_of_spark_sql_kafka_is_continued(spark_kafka: "SparkKafka") -> None:
    send(spark_kafka, range(20))
    with spark_kafka.stream("orders") as stream:
        stream.run()
        log = stream.checkpoint / "offsets" / "0"
        lines = log.read_text().splitlines()
        log.write_text("\n".join([*lines[:2], '{"orders":{"0":12}}']))
        (stream.checkpoint / "offsets" / ".0.crc").unlink(missing_ok=True)
        stream.batches.clear()
        stream.run()

        assert values(stream) == list(range(12, 20))


def test_group_has_the_offsets_of_finished_batches(spark_kafka: "SparkKafka") -> None:
    spark_kafka.kafka.create_topic("orders", partitions=2)
    send(spark_kafka, range(10), partitions=2)
    with spark_kafka.stream("orders", groupId="lake") as stream:
        stream.run()
        assert offsets_and_lags(spark_kafka) == [(5, 0), (5, 0)]

        send(spark_kafka, range(10, 20), partitions=2)
        assert offsets_and_lags(spark_kafka) == [(5, 5), (5, 5)]
        stream.start()
        stream.catch_up()
        assert offsets_and_lags(spark_kafka) == [(10, 0), (10, 0)]


def test_stream_and_sink_have_each_record_once_among_scripted_faults(
    spark_kafka: "SparkKafka", tmp_path_factory: pytest.TempPathFactory
) -> None:
    send(spark_kafka, range(20))
    spark_kafka.kafka.create_topic("copies", partitions=1)
    with spark_kafka.stream("orders", maxOffsetsPerTrigger="8") as stream:
        rows = spark_kafka.spark.readStream.format("cordwood").options(**stream.options).load()
        writer = rows.select("key", "value").writeStream.format("cordwood")
        writer = writer.option("kafka.bootstrap.servers", spark_kafka.bootstrap)
        writer = writer.option("checkpointLocation", str(tmp_path_factory.mktemp("copies")))
        faults = spark_kafka.kafka.faults
        with (
            faults.on("ListOffsets", first=2, times=2).fail(NotLeaderOrFollowerError),
            faults.on("Fetch", first=2, times=2).close(),
            faults.on("Produce", topic="copies", first=2).close(handled=True),
            faults.on("EndTxn", first=2, times=2).close(handled=True),
        ):
            writer.option("topic", "copies").trigger(availableNow=True).start().awaitTermination()

    copies = spark_kafka.frame("copies", **{"isolation.level": "read_committed"}).collect()
    assert sorted(int(row.value) for row in copies) == list(range(20))


def offsets_and_lags(kafka: "SparkKafka") -> list[tuple[object, object]]:
    """Return what `cordwood groups describe` shows."""
    rows = describe_offsets({"bootstrap.servers": kafka.bootstrap}, ["lake"], is_verbose=False)
    return [(row["CURRENT-OFFSET"], row["LAG"]) for row in rows]


def _uncommit(stream: "SparkStream", batch: int) -> None:
    """Leave the checkpoint as a driver does that dies before the commit log is written."""
    for name in (f"{batch}", f".{batch}.crc"):
        (stream.checkpoint / "commits" / name).unlink(missing_ok=True)
