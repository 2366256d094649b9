"""Decoder of Avro values in the Confluent wire format (Confluent: `KafkaAvroDeserializer`).

A value is decoded with the schema of its id, and resolved to the reader's schema.
"""

from io import BytesIO

from cordwood.core.errors import CorruptMessageError
from cordwood.spark.formats.avro_schemas import Schema, arrow_type, parse_avro
from cordwood.spark.formats.framed_decoder import FramedDecoder
from cordwood.spark.formats.schema_framing import HEADER_BYTES
from cordwood.spark.formats.schema_source import SchemaSource, SchemaText
from cordwood.spark.formats.value_decoder import DecodedValue, Record


class AvroDecoder:
    """Decodes values of several writer schemas to records of one reader schema."""

    def __init__(self, source: SchemaSource, reader: int) -> None:
        self._source = source
        of = f"schema {reader}"
        schema = parse_avro(source.by_id(reader), source, of=of)
        self.record_type = arrow_type(schema, of=of)
        self._reader = _prepared(schema)
        self._framed = FramedDecoder(source, prepare=self._prepare, read=self._read)

    def decode(self, value: bytes | None) -> DecodedValue:
        """Decode a value."""
        return self._framed.decode(value)

    def _prepare(self, text: SchemaText, of: str) -> Schema:
        return _prepared(parse_avro(text, self._source, of=of))

    def _read(self, writer: Schema, value: bytes) -> Record:
        from fastavro import schemaless_reader  # noqa: PLC0415  # an extra

        source = BytesIO(value)
        source.seek(HEADER_BYTES)
        try:
            record = schemaless_reader(source, writer, self._reader)
        except Exception as error:  # the library raises many types for broken bytes
            raise CorruptMessageError(f"{type(error).__name__}: {error}") from error
        if (rest := len(value) - source.tell()) > 0:
            raise CorruptMessageError(f"{rest} bytes after the record")
        return record


def _prepared(schema: Schema) -> Schema:
    """Return a schema as the library wants it."""
    from fastavro import parse_schema  # noqa: PLC0415  # an extra

    return parse_schema(schema)
