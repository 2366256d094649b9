"""Encoder of Avro values in the Confluent wire format (Confluent: `KafkaAvroSerializer`)."""

from io import BytesIO

from cordwood.spark.formats.avro_schemas import parse_avro
from cordwood.spark.formats.format_libraries import FASTAVRO, ensure_library
from cordwood.spark.formats.schema_framing import frame_header
from cordwood.spark.formats.schema_source import SchemaSource
from cordwood.spark.formats.value_decoder import Record
from cordwood.spark.formats.value_encoder import EncodedValue


class AvroEncoder:
    """Encodes records with one schema."""

    def __init__(self, source: SchemaSource, schema_id: int) -> None:
        ensure_library(FASTAVRO)
        from fastavro import parse_schema  # noqa: PLC0415  # an extra

        self._header = frame_header(schema_id)
        self._of = f"schema {schema_id}"
        self._schema = parse_schema(parse_avro(source.by_id(schema_id), source, of=self._of))

    def encode(self, record: Record) -> EncodedValue:
        """Encode a record."""
        from fastavro import schemaless_writer  # noqa: PLC0415  # an extra

        if record is None:
            return EncodedValue(None, None)
        out = BytesIO()
        out.write(self._header)
        try:
            schemaless_writer(out, self._schema, record, strict_allow_default=True)
        except Exception as error:  # noqa: BLE001  # the library raises many types for a misfit
            return EncodedValue(None, f"{self._of}: {type(error).__name__}: {error}")
        return EncodedValue(out.getvalue(), None)
