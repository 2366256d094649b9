"""Columns become batches whose records are the selected rows."""

import pytest

from cordwood.core.errors import InvalidRecordError
from cordwood.records.murmur2 import partition_of_key
from cordwood.records.record_encoder import ANY_PARTITION, PlainEncoder
from tests.unit.records.encode_samples import Row, byte_column, columns_of, numbers, read_back

PLAIN = PlainEncoder()
ROWS = (
    Row(1_000, b"k", b"v"),
    Row(999, None, b"", (("a", b"1"), ("b", None))),
    Row(1_001, b"", None, (("größe", b""),)),
)


def test_encoded_rows_are_read_back() -> None:
    (batch,) = PLAIN.encode(columns_of(*ROWS), numbers(0, 1, 2), most_bytes=1_000)

    assert read_back(batch) == list(ROWS)
    assert (batch.record_count, batch.base_timestamp, batch.max_timestamp) == (3, 1_000, 1_001)


def test_rows_are_encoded_in_the_given_order() -> None:
    (batch,) = PLAIN.encode(columns_of(*ROWS), numbers(2, 0), most_bytes=1_000)

    assert read_back(batch) == [ROWS[2], ROWS[0]]


def test_batch_ends_before_a_record_that_does_not_fit() -> None:
    rows = [Row(time, None, b"v" * 50) for time in (5, 3, 4)]

    first, second = PLAIN.encode(columns_of(*rows), numbers(0, 1, 2), most_bytes=120)

    assert [read_back(first), read_back(second)] == [rows[:2], rows[2:]]
    assert (first.max_timestamp, second.base_timestamp) == (5, 4)


def test_record_above_the_batch_size_has_its_own_batch() -> None:
    rows = [Row(1, None, b"v"), Row(1, None, b"v" * 200), Row(1, None, b"v")]

    batches = PLAIN.encode(columns_of(*rows), numbers(0, 1, 2), most_bytes=100)

    assert [read_back(batch) for batch in batches] == [[row] for row in rows]


def test_no_batch_is_encoded_without_rows() -> None:
    assert list(PLAIN.encode(columns_of(*ROWS), numbers(), most_bytes=100)) == []


def test_encoder_rejects_bytes_outside_its_columns() -> None:
    columns = columns_of(*ROWS)
    beyond = columns.keys._replace(data=b"")

    with pytest.raises(InvalidRecordError, match="lies outside its columns"):
        list(PLAIN.encode(columns._replace(keys=beyond), numbers(0), most_bytes=100))


def test_encoder_rejects_headers_outside_its_columns() -> None:
    columns = columns_of(*ROWS)
    beyond = columns.headers._replace(counts=numbers(0, 9, 0))

    with pytest.raises(InvalidRecordError, match="lies outside its columns"):
        list(PLAIN.encode(columns._replace(headers=beyond), numbers(1), most_bytes=100))


def test_partitions_equal_those_of_kafkas_producer() -> None:
    keys = byte_column([b"21", None, b"foobar"])

    found = memoryview(PLAIN.partitions(keys, 10)).cast("B").cast("q")

    chosen = [partition_of_key(b"21", 10), ANY_PARTITION, partition_of_key(b"foobar", 10)]
    assert found.tolist() == chosen
