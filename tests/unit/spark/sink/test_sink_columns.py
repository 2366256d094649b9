"""Conversion of rows to columns of records, and rejected columns."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from cordwood.core.errors import InvalidRecordError, SettingError
from cordwood.records.murmur2 import partition_of_key
from cordwood.records.record_encoder import PlainEncoder
from cordwood.spark.sink.sink_columns import (
    check_columns,
    record_columns,
    split_by_partition,
    split_by_topic,
)
from cordwood.spark.source import source_columns
from tests.unit.records.encode_samples import Row, numbers, read_back

NOW_MS = 1_700_000_000_000
PAIRS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
TIME = pa.timestamp("us", "UTC")


def batch(**columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def written(given: pa.RecordBatch) -> list[Row]:
    """Return the rows as a consumer receives them."""
    columns = record_columns(given, now_ms=NOW_MS)
    everything = numbers(*range(given.num_rows))
    (encoded,) = PlainEncoder().encode(columns, everything, most_bytes=10_000)
    return read_back(encoded)


def chosen(given: pa.RecordBatch, partitions: int = 4) -> list[tuple[int | None, list[int]]]:
    keys = record_columns(given, now_ms=NOW_MS).keys
    found = split_by_partition(given, keys, partitions=partitions, encoder=PlainEncoder())
    return [(partition, numbers.tolist()) for partition, numbers in found]


def test_value_alone_is_a_record_with_the_current_time() -> None:
    assert written(batch(value=pa.array([b"v", None]))) == [
        Row(NOW_MS, None, b"v"),
        Row(NOW_MS, None, None),
    ]


def test_all_columns_are_written_as_they_are() -> None:
    times = pa.array([5_000, None], TIME)
    headers = pa.array([[("a", b"1"), ("b", None)], None], PAIRS)
    given = batch(
        key=pa.array([b"k", None]), value=pa.array(["v", "größe"]), timestamp=times, headers=headers
    )

    assert written(given) == [
        Row(5, b"k", b"v", (("a", b"1"), ("b", None))),
        Row(NOW_MS, None, "größe".encode()),
    ]


def test_slice_of_a_batch_is_written_as_the_slice() -> None:
    headers = pa.array([[("a", b"1")], [("b", b"2"), ("c", b"3")], []], PAIRS)
    given = batch(
        key=pa.array(["x", "y", "z"]), value=pa.array([b"1", None, b"3"]), headers=headers
    )

    assert written(given.slice(1)) == [
        Row(NOW_MS, b"y", None, (("b", b"2"), ("c", b"3"))),
        Row(NOW_MS, b"z", b"3"),
    ]


def test_batch_without_rows_has_columns_without_rows() -> None:
    empty = batch(value=pa.array([], pa.binary()), partition=pa.array([], pa.int32()))

    assert len(record_columns(empty, now_ms=NOW_MS).timestamps) == 0
    assert chosen(empty) == []


def test_missing_timestamp_of_the_source_is_missing_again() -> None:
    given = batch(value=pa.array([b"v"]), timestamp=pa.array([-1_000], TIME))

    assert written(given) == [Row(-1, None, b"v")]


def test_partition_is_the_rows_then_the_keys_then_any() -> None:
    partitions = pa.array([3, None, None, 3], pa.int32())
    given = batch(
        key=pa.array([b"k", b"k", None, None]), value=pa.array([b"v"] * 4), partition=partitions
    )

    assert chosen(given) == sorted(
        [(None, [2]), (3, [0, 3]), (partition_of_key(b"k", 4), [1])],
        key=lambda each: -1 if each[0] is None else each[0],
    )


def test_rows_of_a_partition_keep_their_order() -> None:
    keys = [b"a", b"b"] * 50

    found = chosen(batch(key=pa.array(keys), value=pa.array(keys)), partitions=1_000)

    assert [source_columns for _, source_columns in found] in (
        [[*range(0, 100, 2)], [*range(1, 100, 2)]],
        [[*range(1, 100, 2)], [*range(0, 100, 2)]],
    )


def test_rows_of_the_only_partition_keep_their_order_with_a_key_or_without() -> None:
    given = batch(key=pa.array([b"k", None, b"l"]), value=pa.array([b"v"] * 3))

    assert chosen(given, partitions=1) == [(0, [0, 1, 2])]


def test_rows_are_split_by_topic() -> None:
    given = batch(topic=pa.array(["t", "u", "t"]), value=pa.array([b"1", b"2", b"3"]))

    found = {topic: each.column("value").to_pylist() for topic, each in split_by_topic(given, None)}

    assert found == {"t": [b"1", b"3"], "u": [b"2"]}


def test_topic_of_the_option_overrides_the_column() -> None:
    given = batch(topic=pa.array(["t", None]), value=pa.array([b"1", b"2"]))

    assert list(split_by_topic(given, "u")) == [("u", given)]


@pytest.mark.parametrize(
    ("given", "words"),
    (
        (batch(partition=pa.array([1, -1], pa.int32())), "column partition: a row has -1"),
        (batch(timestamp=pa.array([datetime(1969, 1, 1, tzinfo=UTC)], TIME)), "before 1970"),
        (
            batch(headers=pa.array([[("a", b"1"), None]], PAIRS)),
            "column headers: a row has a null header or header key",
        ),
        (
            batch(headers=pa.array([[(None, b"1")]], PAIRS)),
            "column headers: a row has a null header or header key",
        ),
    ),
)
def test_invalid_row_is_rejected_by_its_column(given: pa.RecordBatch, words: str) -> None:
    sound = given.append_column("value", pa.nulls(given.num_rows, pa.binary()))

    with pytest.raises(InvalidRecordError, match=words):
        chosen(sound)


def test_row_without_a_topic_is_rejected() -> None:
    with pytest.raises(InvalidRecordError, match="column topic: a row has null; fill the nulls"):
        list(split_by_topic(batch(topic=pa.array(["t", None])), None))


def test_columns_of_the_source_can_be_written_as_they_are() -> None:
    types = {name: source_columns.SHOWN_TYPES[name] for name in source_columns.COLUMNS}

    check_columns(types | {"headers": "array<struct<key:string,value:binary>>"}, has_topic=False)


@pytest.mark.parametrize(
    ("types", "words"),
    (
        ({"value": "binary", "keys": "binary"}, r"unknown column: keys; did you mean key\?"),
        ({"value": "binary", "amount": "int"}, r"use key, value, .*, headers, or drop\('amount'\)"),
        (
            {"value": "int"},
            r'value has type int, not binary or string; cast it: col\("value"\).cast',
        ),
        ({"value": "binary", "partition": "bigint"}, "column partition has type bigint, not int"),
        ({"key": "binary"}, "missing column: value"),
        ({"value": "string"}, "no topic is given; set the option topic, or add a column topic"),
    ),
)
def test_columns_that_cannot_be_written_are_named(types: dict[str, str], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        check_columns(types, has_topic="topic" in types)
