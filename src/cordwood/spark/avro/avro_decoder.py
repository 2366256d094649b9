"""Decoder of Avro values in the Confluent wire format.

    0 | schema id: 4 bytes, big-endian | the record, in Avro

A value that cannot be decoded keeps its row and its bytes; the column `error` has the reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, Final, NamedTuple

import pyarrow as pa

from cordwood.core.binary import INT32_MAX
from cordwood.spark.avro.avro_schemas import Schema, arrow_type

#: The columns that are added.
SCHEMA_ID: Final = "schema_id"
RECORD: Final = "record"
ERROR: Final = "error"
ADDED: Final = (SCHEMA_ID, RECORD, ERROR)

_MAGIC: Final = 0
_HEADER_BYTES: Final = 5


class DecodedValue(NamedTuple):
    """The result for a value: a record or an error; all None for a null value."""

    schema_id: int | None
    record: Any
    error: str | None


_NULL_VALUE: Final = DecodedValue(None, None, None)


def decode_batches(  # tidy: allow[positional] bound by partial, then called with the rows
    column: str,
    schemas: Mapping[int, Schema],
    reader: int,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield batches with the decoded columns added; records have the schema `reader`."""
    decoder = AvroDecoder(schemas, reader)
    for batch in batches:
        added = decoder.columns([decoder.decode(each) for each in batch.column(column).to_pylist()])
        names = [*batch.schema.names, *ADDED]
        yield pa.RecordBatch.from_arrays([*batch.columns, *added], names=names)


class AvroDecoder:
    """Decodes values of several writer schemas to records of one reader schema."""

    def __init__(self, schemas: Mapping[int, Schema], reader: int) -> None:
        from fastavro import parse_schema  # noqa: PLC0415  # an extra

        self._schemas = {number: parse_schema(schema) for number, schema in schemas.items()}
        self._reader = reader
        self._type = arrow_type(schemas[reader], of=f"schema {reader}")

    def decode(self, value: bytes | None) -> DecodedValue:
        """Decode a value."""
        if value is None:
            return _NULL_VALUE
        if len(value) < _HEADER_BYTES or value[0] != _MAGIC:
            return DecodedValue(
                None, None, f"no schema id (begins with {value[:_HEADER_BYTES].hex() or 'no byte'})"
            )
        number = int.from_bytes(value[1:_HEADER_BYTES], "big")
        if number > INT32_MAX:
            return DecodedValue(None, None, f"schema {number}: not a positive integer of 32 bits")
        if number not in self._schemas:
            return DecodedValue(number, None, f"schema {number}: not among the given schemas")
        return self._read(number, value)

    def columns(self, decoded: Sequence[DecodedValue]) -> list[pa.Array]:
        """Return the added columns."""
        try:
            records = pa.array([each.record for each in decoded], self._type)
        except (pa.ArrowException, OverflowError):
            decoded = [self._fitting(each) for each in decoded]
            records = pa.array([each.record for each in decoded], self._type)
        return [
            pa.array([each.schema_id for each in decoded], pa.int32()),
            records,
            pa.array([each.error for each in decoded], pa.string()),
        ]

    def _read(self, number: int, value: bytes) -> DecodedValue:
        from fastavro import schemaless_reader  # noqa: PLC0415  # an extra

        source = BytesIO(value)
        source.seek(_HEADER_BYTES)
        try:
            record = schemaless_reader(source, self._schemas[number], self._schemas[self._reader])
        except Exception as error:  # noqa: BLE001  # the library raises many types for broken bytes
            return DecodedValue(number, None, f"schema {number}: {type(error).__name__}: {error}")
        if (rest := len(value) - source.tell()) > 0:
            return DecodedValue(number, None, f"schema {number}: {rest} bytes after the record")
        return DecodedValue(number, record, None)

    def _fitting(self, decoded: DecodedValue) -> DecodedValue:
        """Return the value if its record fits the Arrow type; otherwise an error."""
        try:
            pa.array([decoded.record], self._type)
        except (pa.ArrowException, OverflowError) as error:
            return DecodedValue(decoded.schema_id, None, f"schema {decoded.schema_id}: {error}")
        return decoded
