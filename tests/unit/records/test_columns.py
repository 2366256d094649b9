"""Chunks as Arrow record batches: types, nulls, headers, views, and no copies."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest

from cordwood.core.binary import Buffer
from cordwood.core.errors import CorruptMessageError
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.columns import read_columns, read_table, schema
from cordwood.records.decoder import COLUMNS, ColumnChunk, FixedColumn, ReadRequest, ViewColumn
from cordwood.records.plain_decoder import PlainDecoder
from tests.unit.records import segments

HEADER_KEY = pa.field("key", pa.string(), nullable=False)
HEADER = pa.struct([HEADER_KEY, pa.field("value", pa.binary())])
FIELDS = BatchFields(
    base_offset=40, partition_leader_epoch=5, producer_id=9, producer_epoch=2, base_sequence=7
)


class Decoded:
    """A decoder that returns the given chunks."""

    def __init__(self, *chunks: ColumnChunk) -> None:
        self._chunks = chunks

    def decode(self, buffer: Buffer, request: ReadRequest) -> Iterator[ColumnChunk]:
        return iter(self._chunks)


def two_records(headers: Sequence[tuple[str, bytes | None]] = ()) -> bytes:
    builder = BatchBuilder(FIELDS)
    builder.append(b"k", b"v", timestamp=1000, headers=headers)
    builder.append(None, None, timestamp=1001)
    return bytes(builder.build())


def only(data: bytes, *columns: str) -> pa.RecordBatch:
    """Return the one record batch that is read."""
    request = ReadRequest(columns=columns or COLUMNS)
    (batch,) = read_columns(data, PlainDecoder(), request=request)
    batch.validate(full=True)
    return batch


def view_of(size: int, inline: bytes = b"", *, prefix: bytes = b"", at: int = 0) -> bytes:
    """Return a view as Arrow lays it out: held in itself, or buffer 0 at a place."""
    if size <= 12:
        return size.to_bytes(4, "little") + inline.ljust(12, b"\0")
    return size.to_bytes(4, "little") + prefix + bytes(4) + at.to_bytes(4, "little")


def test_schema_has_a_type_for_every_column() -> None:
    types = {field.name: field.type for field in schema()}

    assert types == {
        "offset": pa.int64(),
        "timestamp": pa.timestamp("ms", tz="UTC"),
        "timestamp_type": pa.int8(),
        "key": pa.binary(),
        "value": pa.binary(),
        "headers": pa.list_(pa.field("item", HEADER, nullable=False)),
        "partition_leader_epoch": pa.int32(),
        "producer_id": pa.int64(),
        "producer_epoch": pa.int16(),
        "sequence": pa.int32(),
    }


def test_only_keys_and_values_are_nullable() -> None:
    nullable = [field.name for field in schema() if field.nullable]

    assert nullable == ["key", "value"]


def test_schema_has_view_types_for_keys_and_values_on_request() -> None:
    views = schema(("offset", "value", "key", "headers"), is_view=True)

    assert views.field("key").type == views.field("value").type == pa.binary_view()
    assert views.field("offset") == schema().field("offset")
    assert views.field("headers") == schema().field("headers")


def test_columns_are_in_the_requested_order() -> None:
    batch = only(two_records(), "value", "offset")

    assert batch.schema == schema(("value", "offset"))
    assert batch.to_pydict() == {"value": [b"v", None], "offset": [40, 41]}


def test_columns_hold_every_field_of_a_record() -> None:
    batch = only(two_records([("h", b"1")]))
    times = batch["timestamp"].cast(pa.int64()).to_pylist()

    assert batch.schema == schema()
    assert times == [1000, 1001]
    assert batch.drop_columns(["timestamp"]).to_pydict() == {
        "offset": [40, 41],
        "timestamp_type": [0, 0],
        "key": [b"k", None],
        "value": [b"v", None],
        "headers": [[{"key": "h", "value": b"1"}], []],
        "partition_leader_epoch": [5, 5],
        "producer_id": [9, 9],
        "producer_epoch": [2, 2],
        "sequence": [7, 8],
    }


def test_columns_without_nulls_have_no_validity_bitmap() -> None:
    batch = only(segments.v2(b"a", b""), "value")

    assert batch["value"].null_count == 0
    assert batch["value"].buffers()[0] is None
    assert batch["value"].to_pylist() == [b"a", b""]


def test_null_and_empty_values_are_distinguished() -> None:
    batch = only(segments.v2(None, b"", None), "key", "value")

    assert batch["value"].to_pylist() == [None, b"", None]
    assert (batch["key"].null_count, batch["value"].null_count) == (3, 2)


def test_headers_keep_order_repeats_and_nulls() -> None:
    headers = [("é", b"1"), ("é", None), ("", b"")]

    batch = only(two_records(headers), "headers")

    assert batch["headers"].to_pylist() == [
        [{"key": "é", "value": b"1"}, {"key": "é", "value": None}, {"key": "", "value": b""}],
        [],
    ]


def test_views_are_created_when_the_decoder_returns_none() -> None:
    request = ReadRequest(columns=("value",), is_view=True)
    data = segments.v2(b"short", None, b"longer than twelve")

    (batch,) = read_columns(data, PlainDecoder(), request=request)

    assert batch["value"].type == pa.binary_view()
    assert batch["value"].to_pylist() == [b"short", None, b"longer than twelve"]


def test_views_point_into_the_bytes_of_the_chunk() -> None:
    place = np.frombuffer(b"..longer than twelve", np.uint8)
    laid = view_of(5, b"short") + view_of(0) + view_of(18, prefix=b"long", at=2)
    views = ViewColumn(np.frombuffer(laid, np.uint8), (place,), np.array([0b101], np.uint8), 1)
    request = ReadRequest(columns=("key",), is_view=True)

    (batch,) = read_columns(b"", Decoded(ColumnChunk(3, {"key": views})), request=request)

    batch.validate(full=True)
    assert batch["key"].to_pylist() == [b"short", None, b"longer than twelve"]
    assert batch["key"].buffers()[2].address == place.ctypes.data


def test_columns_are_not_copied() -> None:
    numbers = np.array([3, 4], np.int64)
    request = ReadRequest(columns=("offset",))

    (batch,) = read_columns(
        b"", Decoded(ColumnChunk(2, {"offset": FixedColumn(numbers)})), request=request
    )

    assert batch["offset"].buffers()[1].address == numbers.ctypes.data
    assert batch["offset"].to_pylist() == [3, 4]


def test_all_columns_are_read_by_default() -> None:
    (batch,) = read_columns(two_records(), PlainDecoder())

    assert batch.schema.names == list(COLUMNS)
    assert batch.num_rows == 2


def test_columns_of_no_bytes_are_no_batches() -> None:
    assert list(read_columns(b"", PlainDecoder())) == []


def test_table_has_its_columns_when_it_has_no_rows() -> None:
    columns = ("key", "offset")

    table = read_table(b"", PlainDecoder(), request=ReadRequest(columns=columns))

    assert (table.num_rows, table.schema) == (0, schema(columns))


def test_table_has_every_chunk() -> None:
    table = read_table(two_records() * 3, PlainDecoder())

    assert table["key"].to_pylist() == [b"k", None] * 3


def test_rows_before_an_invalid_batch_are_yielded_first() -> None:
    good = segments.v2(b"a")
    bad = segments.broken(segments.v2(b"b", fields=BatchFields(base_offset=1)))
    reading = read_columns(good + bad, PlainDecoder())

    before = next(reading)["value"].to_pylist()

    assert before == [b"a"]
    with pytest.raises(CorruptMessageError):
        next(reading)
