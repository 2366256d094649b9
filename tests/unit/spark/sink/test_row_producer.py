"""Rows of a task arrive in their topics and partitions, or the task fails with a reason."""

import pyarrow as pa
import pytest

from cordwood.core.errors import (
    InvalidRequestError,
    MessageTooLargeError,
    NetworkError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import TimestampMs
from cordwood.records.murmur2 import partition_of_key
from cordwood.spark.sink.row_producer import produce
from cordwood.spark.sink.sink_options import parse_sink_options
from cordwood.testing.kafka_fixture import Kafka
from cordwood.testing.virtual_clock import VirtualClock

CLOCK = VirtualClock(TimestampMs(7_000))


def write(kafka: Kafka, *batches: pa.RecordBatch, **options: str) -> int:
    given = {f"kafka.{name.replace('_', '.')}": text for name, text in options.items()}
    where = {"kafka.bootstrap.servers": kafka.bootstrap, "topic": "t"}
    return produce(batches, parse_sink_options(where | given), clock=CLOCK)


def values(*given: bytes | None, **more: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"value": pa.array(given, pa.binary()), **more})


def arrived(kafka: Kafka, topic: str = "t") -> dict[int, list[bytes | None]]:
    """Return the values of each partition, in order."""
    found: dict[int, list[bytes | None]] = {}
    for number in range(4):
        found[number] = [record.value for record in kafka.records(topic, partition=number)]
    return found


@pytest.fixture
def served(kafka: Kafka) -> Kafka:
    """Create the topics `t` and `u` with four partitions."""
    kafka.create_topic("t", partitions=4, message_timestamp_type="CreateTime")
    kafka.create_topic("u", partitions=4)
    return kafka


def test_rows_arrive_in_their_partitions_in_order(served: Kafka) -> None:
    first = values(b"a", b"b", b"c", partition=pa.array([1, 3, 1], pa.int32()))
    second = values(b"d", partition=pa.array([1], pa.int32()))

    assert write(served, first, second) == 4
    assert arrived(served) == {0: [], 1: [b"a", b"c", b"d"], 2: [], 3: [b"b"]}


def test_rows_arrive_with_all_that_they_have(served: Kafka) -> None:
    pairs = pa.array([[("h", b"x")]], pa.list_(pa.struct({"key": "string", "value": "binary"})))

    write(served, values(b"v", key=pa.array(["k"]), headers=pairs))

    (record,) = served.records("t", partition=partition_of_key(b"k", 4))
    assert record.key == b"k"
    assert record.value == b"v"
    assert record.timestamp == 7_000
    assert record.headers == (("h", b"x"),)


def test_rows_are_sent_to_the_topics_in_their_column(served: Kafka) -> None:
    rows = values(b"1", b"2", topic=pa.array(["t", "u"]), partition=pa.array([0, 0], pa.int32()))
    options = parse_sink_options({"kafka.bootstrap.servers": served.bootstrap})

    produce([rows], options, clock=CLOCK)

    assert arrived(served, "t")[0] == [b"1"]
    assert arrived(served, "u")[0] == [b"2"]


def test_rows_without_a_key_spread_batch_by_batch(served: Kafka) -> None:
    write(served, values(*[b"v" * 500] * 200), batch_size="1000")

    counts = [len(each) for each in arrived(served).values()]
    assert sum(counts) == 200
    assert min(counts) > 0


def test_task_without_rows_sends_no_records(served: Kafka) -> None:
    assert write(served) == 0
    assert served.records("t") == []


def test_record_that_is_too_large_is_named_with_the_remedy(served: Kafka) -> None:
    with pytest.raises(
        MessageTooLargeError, match=r"a record of .* max_request_size=1000; raise it"
    ):
        write(served, values(b"v" * 2_000), max_request_size="1000")


def test_rejection_by_the_broker_fails_the_task(kafka: Kafka) -> None:
    kafka.create_topic("t", max_message_bytes=1_000)

    with pytest.raises(MessageTooLargeError, match=r"max\.message\.bytes of the topic"):
        write(kafka, values(b"v" * 2_000), values(b"w"))


@pytest.mark.kafka(auto_create=False)
def test_unknown_topic_is_named(kafka: Kafka) -> None:
    with pytest.raises(UnknownTopicOrPartitionError, match="'t'"):
        write(kafka, values(b"v"), max_block_ms="200")


def test_unknown_partition_is_named(served: Kafka) -> None:
    with pytest.raises(InvalidRequestError, match="no partition 9: choose one from 0 to 3"):
        write(served, values(b"v", partition=pa.array([9], pa.int32())))


def test_unreachable_broker_is_named(served: Kafka) -> None:
    where = {"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "t", "kafka.max.block.ms": "200"}

    with pytest.raises(NetworkError, match=r"no broker is reachable.*127\.0\.0\.1:1"):
        produce([values(b"v")], parse_sink_options(where), clock=CLOCK)
