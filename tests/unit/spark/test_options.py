"""Options as users write them, and the words for those that cannot be used."""

import pytest

from cordwood.core.errors import SettingError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.options import EARLIEST, LATEST, Bound, TopicChoice, parse_options

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))
PAYMENTS = TopicPartition(TopicName("payments"), PartitionId(1))
INTERNAL = TopicPartition(TopicName("__consumer_offsets"), PartitionId(3))


def test_path_alone_means_all_topics_that_are_not_internal() -> None:
    options = parse_options({"path": "logs"})

    assert options.paths == ("logs",)
    assert options.topics.has(ORDERS)
    assert not options.topics.has(INTERNAL)


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
def test_topics_are_chosen_in_one_of_three_ways(
    choice: dict[str, str], wanted: tuple[TopicPartition, ...]
) -> None:
    topics = parse_options({"path": "logs", **choice}).topics

    assert tuple(filter(topics.has, (ORDERS, PAYMENTS, INTERNAL))) == wanted


def test_internal_topics_are_read_when_they_are_named() -> None:
    assert TopicChoice(names=frozenset({"__consumer_offsets"})).has(INTERNAL)


def test_pattern_is_not_meant_for_the_topics_of_brokers() -> None:
    assert not TopicChoice(pattern=".*").has(INTERNAL)
    assert TopicChoice(pattern=".*").has(ORDERS)


def test_bounds_are_the_whole_log_without_options() -> None:
    options = parse_options({"path": "logs"})

    assert options.starting == Bound(is_time=False, default=EARLIEST)
    assert options.ending == Bound(is_time=False, default=LATEST)


def test_bound_of_a_partition_beats_the_one_of_all() -> None:
    options = parse_options({"path": "logs", "startingOffsets": '{"orders": {"0": 23}}'})

    assert options.starting.of(ORDERS) == 23
    assert options.starting.of(PAYMENTS) == EARLIEST


def test_times_stand_for_offsets() -> None:
    options = parse_options(
        {"path": "logs", "startingTimestamp": "1000", "endingTimestamp": "2000"}
    )

    assert options.starting == Bound(is_time=True, default=1000)
    assert options.ending == Bound(is_time=True, default=2000)


def test_client_options_lose_their_prefix() -> None:
    given = {"kafka.bootstrap.servers": "a:1", "subscribe": "orders", "kafka.client.id": "me"}

    options = parse_options(given)

    assert options.servers == "a:1"
    assert options.client == {"client.id": "me"}


def test_place_for_refilling_says_what_becomes_of_gaps() -> None:
    assert parse_options({"path": "logs", "refillPath": "old"}).gap == "refill"


@pytest.mark.parametrize("name", ("isolation.level", "kafka.isolation.level"))
def test_isolation_has_two_names(name: str) -> None:
    assert parse_options({"path": "logs", name: "read_committed"}).is_committed


@pytest.mark.parametrize(
    ("given", "words"),
    (
        ({}, "nothing is given to read from"),
        ({"path": "logs", "startingOffset": "earliest"}, "did you mean startingOffsets"),
        ({"path": "logs", "kafkaConsumer.pollTimeoutMs": "5"}, "use kafka.default.api.timeout.ms"),
        ({"path": "logs", "kafka.auto.offset.reset": "none"}, "use startingOffsets"),
        ({"path": "logs", "startingOffsetsByTimestampStrategy": "first"}, "use error or latest"),
        ({"path": "logs", "maxOffsetsPerTrigger": "5"}, "is for streams"),
        ({"path": "logs", "subscribe": "a", "assign": "{}"}, "contradict each other"),
        ({"path": "logs", "startingOffsets": "earliest", "startingTimestamp": "1"}, "contradict"),
        ({"kafka.bootstrap.servers": "a:1"}, "no topic is given"),
        ({"path": "logs", "startingOffsets": "latest"}, "leaves nothing to read"),
        ({"path": "logs", "endingOffsets": "earliest"}, "leaves nothing to read"),
        ({"path": "logs", "endingOffsets": '{"orders": {"0": -2}}'}, "has -2 for orders-0"),
        ({"path": "logs", "startingOffsets": "{nonsense"}, "is no JSON"),
        ({"path": "logs", "startingOffsets": '{"orders": 5}'}, "has no partitions for orders"),
        ({"path": "logs", "subscribePattern": "("}, "is no pattern"),
        ({"path": "logs", "isolation.level": "committed"}, "read_uncommitted or read_committed"),
        ({"path": "logs", "includeHeaders": "yes"}, "neither true nor false"),
        ({"path": "logs", "minPartitions": "0"}, "at least 1"),
        ({"path": "logs", "gap": "ignore"}, "fail, record, refill"),
        ({"path": "logs", "failOnDataLoss": "false"}, "give gapTable"),
        ({"path": "logs", "gap": "refill"}, "nobody says from where"),
        ({"path": "logs", "gap": "fail", "refillPath": "old"}, "contradict each other"),
        ({"path": "logs", "failOnDataLoss": "false", "gap": "fail"}, "contradict"),
        ({"path": "logs", "gapTable": "gaps"}, "gapTable is for gap = record, not fail"),
        ({"path": "logs", "kafka.bootstrap.server": "a:1"}, "mean kafka.bootstrap.servers"),
        ({"path": "logs", "kafka.client.id": "me"}, "for brokers, and none are named"),
        ({"paths": '"logs"'}, "is no JSON array; as"),
        ({"path": "logs", "startingOffsets": "5"}, "is no JSON object; name topics"),
        ({"path": "logs", "endingOffsets": '{"a": {"0": 9223372036854775808}}'}, "at most"),
        ({"path": "logs", "columns": " , "}, "names no column"),
        ({"path": "logs", "assign": '{"orders": []}'}, "names no partition"),
    ),
)
def test_what_cannot_be_used_is_refused_with_a_remedy(given: dict[str, str], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        parse_options(given)
