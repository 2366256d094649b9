"""Options of the sink, and the errors for invalid ones."""

import pytest

from cordwood.core.errors import SettingError
from cordwood.records.record_batch import HEADER_SIZE
from cordwood.spark.sink.sink_options import OnMissingRecord, SinkOptions, parse_sink_options

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
            "unknown option of the sink: .*; use topic, delivery,",
        ),
        ({**WHERE, "path": "logs"}, "the sink writes to brokers, not to a folder"),
        ({**WHERE, "kafka.linger": "5"}, "did you mean linger.ms"),
        ({**WHERE, "kafka.acks": "2"}, "acks"),
        ({**WHERE, "kafka.acks": "1"}, "acks=1 excludes idempotence"),
        ({**WHERE, "delivery": "once"}, "delivery is once; set exactly-once or at-least-once"),
        ({**WHERE, "deliverry": "x"}, "did you mean delivery"),
        ({**WHERE, "onMissingRecord": "fail"}, "onMissingRecord: a batch write is not repeated"),
        ({**WHERE, "kafka.transactional.id": "x"}, "set transactionalIdPrefix"),
    ),
)
def test_options_that_cannot_be_used_are_named(given: dict[str, str], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        parse_sink_options(given)


def test_write_is_exactly_once_by_default() -> None:
    assert parse().is_exactly_once
    assert not parse(delivery="At-Least-Once").is_exactly_once


def test_options_of_exactly_once_are_parsed() -> None:
    given = {"transactionalIdPrefix": "s", "jobId": "j", "recordTopic": "r", "topic": "t"}

    options = parse_sink_options({**WHERE, **given, "kafka.transaction.timeout.ms": "5000"})

    assert (options.transactional_id_prefix, options.job_id) == ("s", "j")
    assert (options.record_topic, options.transaction_timeout_ms) == ("r", 5_000)


@pytest.mark.parametrize("name", ("transactionalIdPrefix", "jobId"))
def test_empty_name_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match=f"{name} is empty"):
        parse(**{name: ""})


@pytest.mark.parametrize(("name", "is_stream"), (("jobId", False), ("onMissingRecord", True)))
def test_option_without_effect_at_least_once_is_refused(name: str, is_stream: bool) -> None:  # noqa: FBT001  # a parameter of the test
    given = {**WHERE, "delivery": "at-least-once", name: "replay"}

    with pytest.raises(SettingError, match=f"{name} has no effect with delivery=at-least-once"):
        parse_sink_options(given, is_stream=is_stream)


def test_record_is_kept_at_the_topic_by_default() -> None:
    assert parse(topic="t").record_topic == "t"
    assert parse().record_topic is None
    assert parse().transaction_timeout_ms is None


def test_sparks_own_options_of_a_stream_are_accepted() -> None:
    given = {"checkpointLocation": "/c", "queryName": "q", "asyncProgressTrackingEnabled": "false"}

    options = parse_sink_options({**WHERE, **given, "onMissingRecord": "replay"}, is_stream=True)

    assert (options.checkpoint, options.on_missing) == ("/c", OnMissingRecord.REPLAY)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    (
        (
            "asyncProgressTrackingEnabled",
            "true",
            "Spark tracks the progress of its own sinks alone",
        ),
        ("jobId", "x", "a stream has its query id"),
        ("path", "x", r"not to a folder; set kafka.bootstrap.servers, and call start\(\)"),
        ("starting", "x", "unknown option of the streaming sink"),
    ),
)
def test_options_that_a_stream_cannot_have_are_named(name: str, text: str, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        parse_sink_options({**WHERE, name: text}, is_stream=True)
