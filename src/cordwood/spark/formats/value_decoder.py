"""Decoding of a column of values, batch by batch, into three columns.

schema_id    the schema id before the value; null without one
record       the decoded value; null if it is null or cannot be decoded
error        the reason why it cannot be decoded
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import pyarrow as pa

#: A record of any Arrow type, as a value of Python.
Record: TypeAlias = Any

#: The columns that are added.
SCHEMA_ID: Final = "schema_id"
RECORD: Final = "record"
ERROR: Final = "error"
ADDED: Final = (SCHEMA_ID, RECORD, ERROR)


class DecodedValue(NamedTuple):
    """The result for a value: a record or an error; all None for a null value."""

    schema_id: int | None
    record: Record
    error: str | None


NULL_VALUE: Final = DecodedValue(None, None, None)


class ValueDecoder(Protocol):
    """Decodes values to records of one Arrow type."""

    record_type: pa.DataType

    def decode(self, value: bytes | None) -> DecodedValue:
        """Decode a value; one that cannot be decoded has an error."""


def decode_batches(  # tidy: allow[positional] bound by partial, then called with the rows
    column: str,
    make_decoder: Callable[[], ValueDecoder],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield batches with the decoded columns added."""
    decoder = make_decoder()
    for batch in batches:
        decoded = [decoder.decode(each) for each in batch.column(column).to_pylist()]
        names = [*batch.schema.names, *ADDED]
        added = decoded_columns(decoded, decoder.record_type)
        yield pa.RecordBatch.from_arrays([*batch.columns, *added], names=names)


def decoded_columns(decoded: Sequence[DecodedValue], record_type: pa.DataType) -> list[pa.Array]:
    """Return the added columns; a record that does not fit the type has an error."""
    try:
        records = pa.array([each.record for each in decoded], record_type)
    except (pa.ArrowException, OverflowError):
        decoded = [_fitting(each, record_type) for each in decoded]
        records = pa.array([each.record for each in decoded], record_type)
    return [
        pa.array([each.schema_id for each in decoded], pa.int32()),
        records,
        pa.array([each.error for each in decoded], pa.string()),
    ]


def _fitting(decoded: DecodedValue, record_type: pa.DataType) -> DecodedValue:
    """Return the value if its record fits the Arrow type; otherwise an error."""
    try:
        pa.array([decoded.record], record_type)
    except (pa.ArrowException, OverflowError) as error:
        return DecodedValue(decoded.schema_id, None, f"schema {decoded.schema_id}: {error}")
    return decoded
