"""Values that begin with the id of their schema, as registries' clients write them, decoded.

    0 | id: 4 bytes, the most significant first | the record, in Avro

What cannot be decoded stays: its row has its bytes as before, and says what is wrong with them.
"""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, Final, NamedTuple

import pyarrow as pa

from cordwood.spark.avro_schemas import Schema, arrow_type

#: The columns that are added.
SCHEMA_ID: Final = "schema_id"
RECORD: Final = "record"
ERROR: Final = "error"
ADDED: Final = (SCHEMA_ID, RECORD, ERROR)

_MAGIC: Final = 0
_HEADER_BYTES: Final = 5


class Decoded(NamedTuple):
    """What has become of a value; one of the last two is None, or all of it."""

    schema_id: int | None
    record: Any
    error: str | None


_NOTHING: Final = Decoded(None, None, None)


def decode_batches(  # tidy: allow[positional] bound one after the other, then given the rows
    column: str,
    schemas: Mapping[int, Schema],
    reader: int,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield batches with what one of their columns says; records are as `reader` has them."""
    decoder = Decoder(schemas, reader)
    for batch in batches:
        added = decoder.columns([decoder.decode(each) for each in batch.column(column).to_pylist()])
        names = [*batch.schema.names, *ADDED]
        yield pa.RecordBatch.from_arrays([*batch.columns, *added], names=names)


class Decoder:
    """Decodes values of some schemas as records of one."""

    def __init__(self, schemas: Mapping[int, Schema], reader: int) -> None:
        from fastavro import parse_schema  # noqa: PLC0415  # an extra

        self._schemas = {number: parse_schema(schema) for number, schema in schemas.items()}
        self._reader = reader
        self._type = arrow_type(schemas[reader], of=f"schema {reader}")

    def decode(self, value: bytes | None) -> Decoded:
        """Return what a value says."""
        if value is None:
            return _NOTHING
        if len(value) < _HEADER_BYTES or value[0] != _MAGIC:
            return Decoded(None, None, f"begins with {value[:_HEADER_BYTES].hex() or 'nothing'}")
        number = int.from_bytes(value[1:_HEADER_BYTES], "big")
        if number not in self._schemas:
            return Decoded(number, None, f"schema {number} is not among those that are known")
        return self._read(number, value)

    def columns(self, decoded: Sequence[Decoded]) -> list[pa.Array]:
        """Return the columns that are added."""
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

    def _read(self, number: int, value: bytes) -> Decoded:
        from fastavro import schemaless_reader  # noqa: PLC0415  # an extra

        source = BytesIO(value)
        source.seek(_HEADER_BYTES)
        try:
            record = schemaless_reader(source, self._schemas[number], self._schemas[self._reader])
        except Exception as error:  # noqa: BLE001  # whatever a library makes of broken bytes
            return Decoded(number, None, f"schema {number}: {type(error).__name__}: {error}")
        if (left := len(value) - source.tell()) > 0:
            return Decoded(number, None, f"schema {number}: {left} bytes are left behind its end")
        return Decoded(number, record, None)

    def _fitting(self, decoded: Decoded) -> Decoded:
        """Return it as it is if it fits the type, and what is wrong otherwise."""
        try:
            pa.array([decoded.record], self._type)
        except (pa.ArrowException, OverflowError) as error:
            return Decoded(decoded.schema_id, None, f"schema {decoded.schema_id}: {error}")
        return decoded
