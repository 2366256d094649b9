"""Options of the sink, and the errors for invalid ones."""

import pytest

from cordwood.core.errors import SettingError
from cordwood.records.record_batch import HEADER_SIZE
from cordwood.spark.sink.sink_options import SinkOptions, parse_sink_options

WHERE = {"kafka.bootstrap.servers": "127.0.0.1:9092"}


def parse(**options: str) -> SinkOptions:
    return parse_sink_options(
        {**WHERE, **{name.replace("_", "."): options[name] for name in options}}
    )


def test_options_name_the_topic_and_the_brokers() -> None:
    options = parse_sink_options({"KAFKA.bootstrap.servers": "127.0.0.1:9092", "Topic": "orders"})

    assert options.topic == "orders"
    assert options.producer["bootstrap.servers"] == "127.0.0.1:9092"


def test_options_reach_the_producer_by_kafkas_names() -> None:
    options = parse(kafka_compression_type="lz4")

    assert options.topic is None
    assert options.producer["compression.type"] == "lz4"


def test_batches_are_not_larger_than_requests() -> None:
    options = parse_sink_options(
        {**WHERE, "kafka.batch.size": "5000", "kafka.max.request.size": "1000"}
    )

    assert options.batch_bytes == 1_000 - HEADER_SIZE


@pytest.mark.parametrize(
    ("given", "words"),
    (
        ({}, "kafka.bootstrap.servers is not set"),
        ({**WHERE, "topics": "orders"}, "did you mean topic"),
        (
            {**WHERE, "checkpointLocation": "x"},
            "unknown option of the sink: .*; use topic and kafka",
        ),
        ({**WHERE, "path": "logs"}, "the sink writes to brokers, not to a folder"),
        ({**WHERE, "kafka.linger": "5"}, "did you mean linger.ms"),
        ({**WHERE, "kafka.acks": "2"}, "acks"),
        ({**WHERE, "kafka.acks": "1"}, "acks=1 excludes idempotence"),
    ),
)
def test_options_that_cannot_be_used_are_named(given: dict[str, str], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        parse_sink_options(given)
