"""Offsets of a stream: their JSON, and spark-sql-kafka's."""

import json

import pytest

from cordwood.core.errors import SettingError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.stream.stream_offset import (
    INITIAL,
    StreamOffset,
    checkpoint_json,
    parse_offset,
)


def at(topic: str, partition: int) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(partition))


def test_offset_of_spark_sql_kafka_is_read_as_it_is() -> None:
    offset = parse_offset(json.loads('{"orders":{"1":7,"0":23}}'))

    assert offset == StreamOffset({at("orders", 0): 23, at("orders", 1): 7})


def test_offset_survives_a_round_trip() -> None:
    order = at("orders", 0)
    whole = StreamOffset({order: 23}, {"orders": "id"}, {order: 20}, {order: 4})

    assert parse_offset(json.loads(json.dumps(checkpoint_json(whole)))) == whole


def test_offset_without_our_facts_is_one_of_spark_sql_kafka() -> None:
    assert checkpoint_json(StreamOffset({at("orders", 0): 23})) == {"orders": {"0": 23}}


def test_equal_offsets_have_the_same_text() -> None:
    one = {at("b", 10): 1, at("a", 2): 2, at("a", 0): 3}

    texts = {
        json.dumps(checkpoint_json(StreamOffset(dict(order), {"b": "y", "a": "x"})))
        for order in (one.items(), reversed(one.items()))
    }

    assert texts == {
        '{"@cordwood": {"ids": {"a": "x", "b": "y"}}, "a": {"0": 3, "2": 2}, "b": {"10": 1}}'
    }


def test_initial_offset_is_no_batch() -> None:
    assert parse_offset(INITIAL).is_initial


def test_offset_with_a_start_of_nothing_is_a_batch() -> None:
    empty = StreamOffset({}, start={})

    assert not parse_offset(checkpoint_json(empty)).is_initial


@pytest.mark.parametrize(
    "given",
    (
        {"orders": 7},
        {"orders": {"zero": 7}},
        {"orders": {"0": -1}},
        {"orders": {"0": True}},
        {"orders": {"0": 1.5}},
        {"@cordwood": []},
        {"@cordwood": {"ids": 1}},
        {"@cordwood": {"start": 1}},
        7,
    ),
)
def test_other_json_is_rejected_by_name(given: object) -> None:
    with pytest.raises(SettingError, match="checkpoint: not an offset of this source"):
        parse_offset(given)
