"""Decoder of Avro values in the Confluent wire format (Confluent: `KafkaAvroDeserializer`).

A value is decoded with the schema of its id, and resolved to the reader's schema.
"""

from io import BytesIO
from typing import NamedTuple

from cordwood.core.errors import SettingError
from cordwood.spark.formats.avro_schemas import Schema, arrow_type, parse_avro
from cordwood.spark.formats.schema_framing import HEADER_BYTES, read_frame
from cordwood.spark.formats.schema_source import SchemaSource, UnknownSchemaError
from cordwood.spark.formats.value_decoder import NULL_VALUE, DecodedValue


class _AvroWriter(NamedTuple):
    """The schema of an id as the library wants it, or the error of its values."""

    schema: Schema
    error: str | None = None


class AvroDecoder:
    """Decodes values of several writer schemas to records of one reader schema."""

    def __init__(self, source: SchemaSource, reader: int) -> None:
        self._source = source
        self._writers: dict[int, _AvroWriter] = {}
        of = f"schema {reader}"
        schema = parse_avro(source.by_id(reader), source, of=of)
        self.record_type = arrow_type(schema, of=of)
        self._reader = _prepared(schema)

    def decode(self, value: bytes | None) -> DecodedValue:
        """Decode a value."""
        if value is None:
            return NULL_VALUE
        number, error = read_frame(value)
        if number is None:
            return DecodedValue(None, None, error)
        writer = self._writers.get(number)
        if writer is None:
            writer = self._writers[number] = self._writer(number)
        if writer.error is not None:
            return DecodedValue(number, None, writer.error)
        return self._read(number, writer.schema, value)

    def _writer(self, number: int) -> _AvroWriter:
        try:
            text = self._source.by_id(number)
            return _AvroWriter(_prepared(parse_avro(text, self._source, of=f"schema {number}")))
        except UnknownSchemaError as error:
            return _AvroWriter("", f"schema {number}: {error}")
        except SettingError as error:
            return _AvroWriter("", error.problem)

    def _read(self, number: int, writer: Schema, value: bytes) -> DecodedValue:
        from fastavro import schemaless_reader  # noqa: PLC0415  # an extra

        source = BytesIO(value)
        source.seek(HEADER_BYTES)
        try:
            record = schemaless_reader(source, writer, self._reader)
        except Exception as error:  # noqa: BLE001  # the library raises many types for broken bytes
            return DecodedValue(number, None, f"schema {number}: {type(error).__name__}: {error}")
        if (rest := len(value) - source.tell()) > 0:
            return DecodedValue(number, None, f"schema {number}: {rest} bytes after the record")
        return DecodedValue(number, record, None)


def _prepared(schema: Schema) -> Schema:
    """Return a schema as the library wants it."""
    from fastavro import parse_schema  # noqa: PLC0415  # an extra

    return parse_schema(schema)
