"""The programs of `examples/streams`: state over batches and restarts, behind our source."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest

import cordwood
from examples.streams.deduplication import without_duplicates
from examples.streams.running_totals import STORE, running_totals
from examples.streams.sessions import sessions
from examples.streams.stream_joins import orders_of_customers, paid_orders, with_current_customers
from examples.streams.windowed_counts import windowed_counts

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, Row

    from cordwood.testing.spark_kafka import SparkKafka
    from cordwood.testing.spark_stream import SparkStream

pytestmark = pytest.mark.timeout(600)

MINUTE: Final = 60_000
SETTINGS: Final = {"message.timestamp.type": "CreateTime", "retention.ms": "-1"}
TOPICS: Final = ("orders", "clicks", "payments", "customers", "bookings")


@pytest.fixture(autouse=True)
def _topics(spark_kafka: "SparkKafka") -> None:
    """Create topics that keep the timestamps of their producers."""
    for topic in TOPICS:
        spark_kafka.kafka.create_topic(topic, partitions=1, **SETTINGS)


def send(spark_kafka: "SparkKafka", topic: str, *rows: tuple[str, str, int]) -> None:
    """Send records: key, value and minutes of the timestamp."""
    with cordwood.Producer(spark_kafka.bootstrap) as producer:
        for key, value, minutes in rows:
            producer.send(
                topic, value.encode(), key=key.encode(), timestamp_ms=MINUTE * (1 + minutes)
            )


@contextmanager
def stream_through(
    spark_kafka: "SparkKafka", topic: str, function: "Callable[[DataFrame], DataFrame]"
) -> Iterator["SparkStream"]:
    """Yield a stream of a topic through a program."""
    with spark_kafka.stream(topic) as stream:
        stream.through = function
        yield stream


def keys_and(rows: "list[Row]", column: str) -> list[tuple[str, str]]:
    """Return the key and a column of each row, in order."""
    return sorted((str(_text(row["key"])), str(_text(row[column]))) for row in rows)


def _text(value: object) -> object:
    return bytes(value).decode() if isinstance(value, bytes | bytearray) else value


def test_counts_of_a_window_come_once_it_has_ended(spark_kafka: "SparkKafka") -> None:
    send(spark_kafka, "orders", ("tea", "1", 0), ("tea", "1", 5), ("jam", "1", 5), ("tea", "1", 15))

    with stream_through(spark_kafka, "orders", windowed_counts) as stream:
        stream.run()
        first = counts(stream.rows)
        send(spark_kafka, "orders", ("end", "1", 600))
        stream.run()

    assert sorted(first) == [("jam", 1), ("tea", 2)]
    assert counts(stream.rows) == [*first, ("tea", 1)]


def counts(rows: "list[Row]") -> list[tuple[object, int]]:
    """Return the key and the count of each row."""
    return [(_text(row.key), json.loads(row.value)["count"]) for row in rows]


def test_sessions_end_after_a_pause(spark_kafka: "SparkKafka") -> None:
    clicks = [("ada", "x", minute) for minute in (0, 10, 20, 90)]
    send(spark_kafka, "clicks", *clicks, ("end", "x", 600), ("end", "x", 601))

    with stream_through(spark_kafka, "clicks", sessions) as stream:
        stream.run()
        send(spark_kafka, "clicks", ("end", "x", 602))
        stream.run()

    assert keys_and(stream.rows, "clicks") == [("ada", "1"), ("ada", "3")]


def test_duplicates_are_left_out_over_a_restart(spark_kafka: "SparkKafka") -> None:
    with stream_through(spark_kafka, "payments", without_duplicates) as stream:
        send(spark_kafka, "payments", ("p1", "a", 0), ("p1", "a", 1), ("p2", "b", 1))
        stream.run()
        send(spark_kafka, "payments", ("p2", "b", 2), ("p3", "c", 2))
        stream.run()

    assert keys_and(stream.rows, "value") == [("p1", "a"), ("p2", "b"), ("p3", "c")]


def test_orders_are_joined_with_payments_of_another_batch(spark_kafka: "SparkKafka") -> None:
    options = {"kafka.bootstrap.servers": spark_kafka.bootstrap, "subscribe": "payments"}
    payments = (
        spark_kafka.spark.readStream.format("cordwood")
        .options(startingOffsets="earliest", **options)
        .load()
    )

    with stream_through(
        spark_kafka, "orders", lambda orders: paid_orders(orders, payments)
    ) as stream:
        send(spark_kafka, "orders", ("o1", "tea", 0), ("o2", "jam", 0))
        stream.run()
        send(spark_kafka, "payments", ("o1", "5", 30), ("o2", "7", 90))
        stream.run()

    assert [(_text(row.order), _text(row.payment)) for row in stream.rows] == [("tea", "5")]


def test_orders_are_joined_with_a_compacted_topic(spark_kafka: "SparkKafka") -> None:
    send(spark_kafka, "customers", ("c1", "old", 0), ("c1", "Ada", 1))
    send(spark_kafka, "orders", ("c1", "tea", 2), ("c2", "jam", 2))
    customers = spark_kafka.frame("customers")

    with stream_through(
        spark_kafka, "orders", lambda orders: orders_of_customers(orders, customers)
    ) as stream:
        stream.run()

    found = [(_text(row.value), row.customer and _text(row.customer)) for row in stream.rows]
    assert sorted(found) == [("jam", None), ("tea", "Ada")]


def test_orders_are_joined_with_the_customers_of_their_batch(
    spark_kafka: "SparkKafka", tmp_path: "Path"
) -> None:
    found: list[Row] = []
    on_batch = with_current_customers(
        lambda: spark_kafka.frame("customers"), lambda rows, _: found.extend(rows.collect())
    )
    places = {"subscribe": "orders", "kafka.bootstrap.servers": spark_kafka.bootstrap}
    reader = spark_kafka.spark.readStream.format("cordwood").options(**places)
    orders = reader.option("startingOffsets", "earliest").load()
    send(spark_kafka, "customers", ("c1", "Ada", 0))
    send(spark_kafka, "orders", ("c1", "tea", 1))
    query = orders.writeStream.foreachBatch(on_batch).option("checkpointLocation", str(tmp_path))
    running = query.trigger(processingTime="0 seconds").start()
    try:
        running.processAllAvailable()
        send(spark_kafka, "customers", ("c1", "Bob", 2))
        send(spark_kafka, "orders", ("c1", "jam", 3))
        running.processAllAvailable()
    finally:
        running.stop()

    named = [(_text(row.value), _text(row.customer)) for row in found]
    assert named == [("tea", "Ada"), ("jam", "Bob")]


@pytest.fixture
def rocks(spark_kafka: "SparkKafka") -> Iterator[None]:
    """Use the state store that transformWithState needs."""
    name = "spark.sql.streaming.stateStore.providerClass"
    spark_kafka.spark.conf.set(name, STORE)
    yield
    spark_kafka.spark.conf.unset(name)


@pytest.mark.usefixtures("rocks")
def test_totals_go_on_after_a_restart(spark_kafka: "SparkKafka") -> None:
    with stream_through(spark_kafka, "bookings", running_totals) as stream:
        send(spark_kafka, "bookings", ("a", "5", 0), ("b", "1", 0), ("a", "2", 0))
        stream.run()
        send(spark_kafka, "bookings", ("a", "-3", 0))
        stream.run()

    assert [(row.key, row.total) for row in stream.batches[1]] == [("a", 4)]
    assert keys_and(stream.batches[0], "total") == [("a", "7"), ("b", "1")]
