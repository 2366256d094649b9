"""Encoding of a column of records, batch by batch, into values.

A record that cannot be encoded has a null value and an error. An error that a row already has is
kept, and its value is null.
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
    records = batch.column(record).to_pylist(maps_as_pydicts="strict")
    errors: list[str | None] = [None] * len(records)
    if ERROR in batch.schema.names:
        errors = batch.column(ERROR).to_pylist()
    return [
        encoder.encode(each) if error is None else EncodedValue(None, error)
        for each, error in zip(records, errors, strict=True)
    ]
