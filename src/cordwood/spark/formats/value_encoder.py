"""Encoding of a column of records, batch by batch, into values.

A record that cannot be encoded has a null value and an error. An error that a row already has is
kept, and its value is null.

A timestamp without a time zone is encoded as if it were UTC's, as Spark's own encoders do. Python's
libraries would take the time zone of the worker's machine.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import pyarrow as pa

from cordwood.spark.formats.value_decoder import ERROR, Record


class EncodedValue(NamedTuple):
    """The value of a record, or an error; both None for a null record."""

    value: bytes | None
    error: str | None


class ValueEncoder(Protocol):
    """Encodes records with one schema."""

    def encode(self, record: Record) -> EncodedValue:
        """Encode a record; one that does not fit the schema has an error."""


def encode_batches(  # tidy: allow[positional] bound by partial, then called with the rows
    record: str,
    into: str,
    make_encoder: Callable[[], ValueEncoder],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield batches with the column `into` added or replaced, and the column of errors."""
    encoder = make_encoder()
    for batch in batches:
        found = _encoded(encoder, batch, record)
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        columns[into] = pa.array([each.value for each in found], pa.binary())
        columns[ERROR] = pa.array([each.error for each in found], pa.string())
        yield pa.RecordBatch.from_arrays([*columns.values()], names=[*columns])


def _encoded(encoder: ValueEncoder, batch: pa.RecordBatch, record: str) -> list[EncodedValue]:
    column = batch.column(record)
    records = _records(column.cast(_in_utc(column.type)))
    errors: list[str | None] = [None] * len(records)
    if ERROR in batch.schema.names:
        errors = batch.column(ERROR).to_pylist()
    return [
        _encoded_one(encoder, each) if error is None else EncodedValue(None, error)
        for each, error in zip(records, errors, strict=True)
    ]


def _encoded_one(encoder: ValueEncoder, record: Record) -> EncodedValue:
    if isinstance(record, KeyError):
        return EncodedValue(None, f"a map has a key twice: {record}")
    return encoder.encode(record)


def _in_utc(kind: pa.DataType) -> pa.DataType:
    """Return a type whose timestamps without a time zone are of UTC."""
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return pa.timestamp(kind.unit, "UTC")
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(_in_utc(each.type)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_utc(kind.value_type)))
    if pa.types.is_map(kind):
        items = kind.item_field.with_type(_in_utc(kind.item_type))
        return pa.map_(kind.key_field.with_type(_in_utc(kind.key_type)), items)
    return kind


def _records(column: pa.Array) -> list[Record]:
    """Return the records; an error for one in which a map has a key twice."""
    try:
        return list(column.to_pylist(maps_as_pydicts="strict"))
    except KeyError:
        return [_record(each) for each in column]


def _record(scalar: pa.Scalar) -> Record:
    try:
        return scalar.as_py(maps_as_pydicts="strict")
    except KeyError as error:
        return error
