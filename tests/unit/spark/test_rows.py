"""Records as the rows that Spark is promised."""

import pyarrow as pa
import pytest

from cordwood.core.errors import InvalidRecordError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.builder import BatchBuilder, BatchFields
from cordwood.records.chunk import Request
from cordwood.records.columns import read_table
from cordwood.records.plain import PlainDecoder
from cordwood.spark.rows import COLUMNS, HEADERS, arrow_schema, ddl, record_columns, rows_of

PARTITION = TopicPartition(TopicName("orders"), PartitionId(2))
ALL = (*COLUMNS, HEADERS)


def _rows(columns: tuple[str, ...], *, timestamp: int = -1) -> pa.RecordBatch:
    builder = BatchBuilder(BatchFields(base_offset=7))
    builder.append(b"ada", b"42", timestamp=1_000, headers=(("trace", b"x"),))
    builder.append(None, None, timestamp=timestamp)
    request = Request(columns=record_columns(columns))
    (batch,) = read_table(builder.build(), PlainDecoder(), request=request).to_batches()
    return rows_of(batch, PARTITION, schema=arrow_schema(columns))


def test_rows_have_exactly_the_types_that_spark_wants() -> None:
    assert _rows(ALL).schema == arrow_schema(ALL)


def test_rows_say_what_records_say() -> None:
    first, second = _rows(ALL).to_pylist()

    assert (first["key"], first["value"], first["offset"]) == (b"ada", b"42", 7)
    assert (first["topic"], first["partition"], first["timestampType"]) == ("orders", 2, 0)
    assert first["headers"] == [{"key": "trace", "value": b"x"}]
    assert (second["key"], second["value"], second["headers"]) == (None, None, None)


def test_rows_count_time_in_microseconds() -> None:
    times = _rows(("timestamp",)).column("timestamp").cast(pa.int64()).to_pylist()

    assert times == [1_000_000, -1_000]


@pytest.mark.parametrize(
    ("columns", "words"),
    (
        (("offset", "timestamp"), "orders-2 has at offset 8 a record of 1152921504606846976 ms"),
        (("timestamp",), "orders-2 has a record of 1152921504606846976 ms"),
    ),
)
def test_time_that_spark_has_no_timestamp_for_is_named(
    columns: tuple[str, ...], words: str
) -> None:
    with pytest.raises(InvalidRecordError, match=words):
        _rows(columns, timestamp=2**60)


def test_rows_can_be_counted_where_only_the_partition_is_wanted() -> None:
    assert _rows(("topic",)).to_pydict() == {"topic": ["orders", "orders"]}


def test_schema_is_told_in_the_order_of_the_columns() -> None:
    assert ddl(("offset", "key")) == "offset long, key binary"
