"""Parsing of source options, and the errors for options that cannot be used."""

import pytest

from cordwood.core.errors import SettingError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.source.source_options import (
    EARLIEST,
    LATEST,
    OffsetRangeLimit,
    TopicChoice,
    count_option,
    parse_options,
)

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))
PAYMENTS = TopicPartition(TopicName("payments"), PartitionId(1))
INTERNAL = TopicPartition(TopicName("__consumer_offsets"), PartitionId(3))


def test_path_alone_means_all_topics_that_are_not_internal() -> None:
    options = parse_options({"path": "logs"})

    assert options.paths == ("logs",)
    assert options.topics.includes(ORDERS)
    assert not options.topics.includes(INTERNAL)


def test_names_may_be_written_in_any_case() -> None:
    options = parse_options(
        {"path": "logs", "startingoffsets": "earliest", "INCLUDEHEADERS": "true"}
    )

    assert options.has_headers


@pytest.mark.parametrize(
    ("choice", "wanted"),
    (
        ({"subscribe": "orders, payments"}, (ORDERS, PAYMENTS)),
        ({"subscribePattern": "or.*"}, (ORDERS,)),
        ({"assign": '{"payments": [1]}'}, (PAYMENTS,)),
    ),
)
def test_topics_are_selected_by_one_of_three_options(
    choice: dict[str, str], wanted: tuple[TopicPartition, ...]
) -> None:
    topics = parse_options({"path": "logs", **choice}).topics

    assert tuple(filter(topics.includes, (ORDERS, PAYMENTS, INTERNAL))) == wanted


def test_internal_topics_are_read_when_they_are_named() -> None:
    assert TopicChoice(names=frozenset({"__consumer_offsets"})).includes(INTERNAL)


def test_pattern_matches_no_internal_topics() -> None:
    assert not TopicChoice(pattern=".*").includes(INTERNAL)
    assert TopicChoice(pattern=".*").includes(ORDERS)


def test_bounds_are_the_whole_log_without_options() -> None:
    options = parse_options({"path": "logs"})

    assert options.starting == OffsetRangeLimit(is_time=False, default=EARLIEST)
    assert options.ending == OffsetRangeLimit(is_time=False, default=LATEST)


def test_offset_of_a_partition_takes_precedence_over_the_default() -> None:
    options = parse_options({"path": "logs", "startingOffsets": '{"orders": {"0": 23}}'})

    assert options.starting.for_partition(ORDERS) == 23
    assert options.starting.for_partition(PAYMENTS) == EARLIEST


def test_timestamps_are_limits_for_all_partitions() -> None:
    options = parse_options(
        {"path": "logs", "startingTimestamp": "1000", "endingTimestamp": "2000"}
    )

    assert options.starting == OffsetRangeLimit(is_time=True, default=1000)
    assert options.ending == OffsetRangeLimit(is_time=True, default=2000)


def test_client_options_lose_their_prefix() -> None:
    given = {"kafka.bootstrap.servers": "a:1", "subscribe": "orders", "kafka.client.id": "me"}

    options = parse_options(given)

    assert options.servers == "a:1"
    assert options.client == {"client.id": "me"}


def test_refill_path_implies_the_policy_refill() -> None:
    assert parse_options({"path": "logs", "refillPath": "old"}).gap == "refill"


@pytest.mark.parametrize("name", ("isolation.level", "kafka.isolation.level"))
def test_isolation_has_two_names(name: str) -> None:
    assert parse_options({"path": "logs", name: "read_committed"}).is_committed


@pytest.mark.parametrize(
    ("given", "words"),
    (
        ({}, "no source is given"),
        ({"path": "logs", "startingOffset": "earliest"}, "did you mean startingOffsets"),
        ({"path": "logs", "kafkaConsumer.pollTimeoutMs": "5"}, "use kafka.default.api.timeout.ms"),
        ({"path": "logs", "kafka.auto.offset.reset": "none"}, "use startingOffsets"),
        ({"path": "logs", "startingOffsetsByTimestampStrategy": "first"}, "use error or latest"),
        ({"path": "logs", "maxOffsetsPerTrigger": "5"}, "applies to streaming only"),
        ({"path": "logs", "subscribe": "a", "assign": "{}"}, "are mutually exclusive"),
        (
            {"path": "logs", "startingOffsets": "earliest", "startingTimestamp": "1"},
            "mutually exclusive",
        ),
        ({"kafka.bootstrap.servers": "a:1"}, "no topic is given"),
        ({"path": "logs", "startingOffsets": "latest"}, "selects no records"),
        ({"path": "logs", "endingOffsets": "earliest"}, "selects no records"),
        (
            {"path": "logs", "endingOffsets": '{"orders": {"0": -2}}'},
            "invalid offset -2 for orders-0",
        ),
        ({"path": "logs", "startingOffsets": "{nonsense"}, "invalid JSON"),
        ({"path": "logs", "startingOffsets": '{"orders": 5}'}, "no partitions for orders"),
        ({"path": "logs", "subscribePattern": "("}, "is not a valid pattern"),
        ({"path": "logs", "isolation.level": "committed"}, "read_uncommitted or read_committed"),
        ({"path": "logs", "includeHeaders": "yes"}, "is not a boolean; use true or false"),
        ({"path": "logs", "minPartitions": "0"}, "from 1 to"),
        ({"path": "logs", "gap": "ignore"}, "fail, record, refill"),
        ({"path": "logs", "failOnDataLoss": "false"}, "gap=record needs gapTable"),
        ({"path": "logs", "gap": "refill"}, "gap=refill needs refillPath"),
        ({"path": "logs", "gap": "fail", "refillPath": "old"}, "contradict each other"),
        ({"path": "logs", "failOnDataLoss": "false", "gap": "fail"}, "contradict"),
        ({"path": "logs", "gapTable": "gaps"}, "gapTable applies to gap=record, not to gap=fail"),
        ({"path": "logs", "kafka.bootstrap.server": "a:1"}, "mean kafka.bootstrap.servers"),
        ({"path": "logs", "kafka.client.id": "me"}, "no effect without kafka.bootstrap.servers"),
        ({"paths": '"logs"'}, "not a JSON array; write"),
        ({"path": "logs", "startingOffsets": "5"}, "not a JSON object; write topics as keys"),
        (
            {"path": "logs", "endingOffsets": '{"a": {"0": 9223372036854775808}}'},
            "to 9223372036854775807",
        ),
        ({"path": "logs", "columns": " , "}, "no column is given"),
        ({"path": "logs", "assign": '{"orders": []}'}, "no partition is given"),
    ),
)
def test_unusable_option_is_rejected_with_a_remedy(given: dict[str, str], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        parse_options(given)


def test_end_of_directories_is_the_high_watermark_by_default() -> None:
    assert not parse_options({"path": "/logs"}).is_to_log_end
    assert parse_options({"path": "/logs", "endAt": "log-end"}).is_to_log_end
    with pytest.raises(SettingError, match="endAt: unknown end 'end'; use high-watermark or log-"):
        parse_options({"path": "/logs", "endAt": "end"})


@pytest.mark.parametrize("side", ("starting", "ending"))
def test_negative_timestamps_are_rejected(side: str) -> None:
    name = f"{side}OffsetsByTimestamp"

    with pytest.raises(SettingError, match=f"{name}: invalid value '-1'; use an integer from 0"):
        parse_options({"path": "/logs", name: '{"orders": {"0": -1}}'})


def test_stream_accepts_the_options_that_streams_alone_have() -> None:
    options = parse_options({"path": "logs", "maxBytesPerTrigger": "5"}, is_streaming=True)

    assert options.paths == ("logs",)
    assert options.starting.default == LATEST


@pytest.mark.parametrize("name", ("endingOffsets", "endingTimestamp", "pushFilters"))
def test_stream_rejects_the_options_that_batch_reads_alone_have(name: str) -> None:
    with pytest.raises(SettingError, match="applies to batch reads only; remove it from a stream"):
        parse_options({"path": "logs", name: "1"}, is_streaming=True)


@pytest.mark.parametrize("text", ("0", "many"))
def test_count_is_a_positive_number(text: str) -> None:
    assert count_option({"minpartitions": "3"}, "minPartitions") == 3
    assert count_option({}, "minPartitions") is None
    with pytest.raises(SettingError, match="minPartitions: invalid value"):
        count_option({"minpartitions": text}, "minPartitions")
