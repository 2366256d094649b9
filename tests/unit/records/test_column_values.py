"""Columns as Python values: nulls, empty values and headers."""

from itertools import islice
from typing import cast

from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.column_values import bytes_of, headers_of, numbers_of, timestamp_types_of
from cordwood.records.decoder import BinaryColumn, ReadRequest
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.records.record import NO_HEADERS, TimestampType


def test_values_of_columns_are_python_objects() -> None:
    builder = BatchBuilder(BatchFields())
    builder.append(None, b"", timestamp=5, headers=[("ü", b"1"), ("g", None)])
    builder.append(b"k", None, timestamp=6)

    (chunk,) = PlainDecoder().decode(builder.build(), ReadRequest())

    assert numbers_of(chunk, "timestamp") == [5, 6]
    assert list(timestamp_types_of(chunk)) == [TimestampType.CREATE_TIME] * 2
    assert bytes_of(cast("BinaryColumn", chunk.columns["key"])) == [None, b"k"]
    assert bytes_of(cast("BinaryColumn", chunk.columns["value"])) == [b"", None]
    assert list(headers_of(chunk)) == [(("ü", b"1"), ("g", None)), ()]


def test_chunk_without_headers_has_none_for_each_row() -> None:
    builder = BatchBuilder(BatchFields())
    builder.append(b"k", b"v", timestamp=5)

    (chunk,) = PlainDecoder().decode(builder.build(), ReadRequest())

    assert list(islice(headers_of(chunk), 1)) == [NO_HEADERS]
