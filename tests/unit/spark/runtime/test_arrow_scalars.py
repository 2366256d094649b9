"""Scalars are equal to those of Arrow, and pandas is not loaded."""

import subprocess
import sys
from typing import Final

import pyarrow as pa
import pytest

from cordwood.core.types import NO_TIMESTAMP
from cordwood.spark.runtime.arrow_scalars import integer_scalar, string_scalar

#: Records become rows, and rows become records.
READ_AND_WRITTEN: Final = """
import sys
import pyarrow as pa
from cordwood.core.types import TopicPartition
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.columns import read_table
from cordwood.records.record_encoder import PlainEncoder
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.spark.source.source_columns import COLUMNS, HEADERS, arrow_schema, rows_of
from cordwood.spark.sink.sink_columns import record_columns, split_by_partition, split_by_topic

builder = BatchBuilder(BatchFields())
builder.append(None, b"v", timestamp=5)
(records,) = read_table(builder.build(), PlainDecoder()).to_batches()
schema = arrow_schema((*COLUMNS, HEADERS))
rows = [rows_of(records, TopicPartition(topic, 0), schema=schema) for topic in ("a", "b")]
(both,) = pa.Table.from_batches(rows).combine_chunks().to_batches()
for topic, batch in split_by_topic(both, None):
    keys = record_columns(batch, now_ms=5).keys
    found = list(split_by_partition(batch, keys, partitions=2, encoder=PlainEncoder()))
    print(topic, len(found), "pandas" in sys.modules)
"""


def test_string_scalars_equal_those_of_arrow() -> None:
    assert string_scalar("größe") == pa.scalar("größe")


@pytest.mark.parametrize("kind", (pa.int32(), pa.int64()))
@pytest.mark.parametrize("value", (0, 7, NO_TIMESTAMP, -(1 << 31)))
def test_integer_scalars_equal_those_of_arrow(value: int, kind: pa.DataType) -> None:
    assert integer_scalar(value, kind) == pa.scalar(value, kind)


def test_tasks_read_and_write_without_pandas() -> None:
    command = [sys.executable, "-c", READ_AND_WRITTEN]

    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout

    assert output == "a 1 False\nb 1 False\n"
