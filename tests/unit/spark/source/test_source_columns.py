"""Conversion of records to rows with the types of the schema."""

import pyarrow as pa
import pytest

from cordwood.core.errors import InvalidRecordError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.columns import read_table
from cordwood.records.decoder import ReadRequest
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.spark.source.source_columns import (
    COLUMNS,
    HEADERS,
    arrow_schema,
    ddl_schema,
    record_columns,
    rows_of,
)

PARTITION = TopicPartition(TopicName("orders"), PartitionId(2))
ALL = (*COLUMNS, HEADERS)


def _rows(columns: tuple[str, ...], *, timestamp: int = -1) -> pa.RecordBatch:
    builder = BatchBuilder(BatchFields(base_offset=7))
    builder.append(b"ada", b"42", timestamp=1_000, headers=(("trace", b"x"),))
    builder.append(None, None, timestamp=timestamp)
    request = ReadRequest(columns=record_columns(columns))
    (batch,) = read_table(builder.build(), PlainDecoder(), request=request).to_batches()
    return rows_of(batch, PARTITION, schema=arrow_schema(columns))


def test_rows_have_the_types_of_the_schema() -> None:
    assert _rows(ALL).schema == arrow_schema(ALL)


def test_rows_have_the_values_of_records() -> None:
    first, second = _rows(ALL).to_pylist()

    assert first.pop("timestamp").timestamp() == 1
    assert first == {
        "key": b"ada",
        "value": b"42",
        "topic": "orders",
        "partition": 2,
        "offset": 7,
        "timestampType": 0,
        "headers": [{"key": "trace", "value": b"x"}],
    }
    assert second["key"] is None
    assert second["value"] is None
    assert second["headers"] is None


def test_rows_count_time_in_microseconds() -> None:
    times = _rows(("timestamp",)).column("timestamp").cast(pa.int64()).to_pylist()

    assert times == [1_000_000, -1_000]


@pytest.mark.parametrize(
    ("columns", "words"),
    (
        (
            ("offset", "timestamp"),
            "orders-2: the record at offset 8 has timestamp 1152921504606846976 ms",
        ),
        (("timestamp",), "orders-2: a record has timestamp 1152921504606846976 ms"),
    ),
)
def test_timestamp_out_of_range_is_named(columns: tuple[str, ...], words: str) -> None:
    with pytest.raises(InvalidRecordError, match=words):
        _rows(columns, timestamp=2**60)


def test_rows_can_be_counted_without_decoded_columns() -> None:
    assert _rows(("topic",)).to_pydict() == {"topic": ["orders", "orders"]}


def test_schema_has_the_order_of_the_columns() -> None:
    assert ddl_schema(("offset", "key")) == "offset long, key binary"
