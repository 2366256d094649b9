"""Encoder of Protobuf values in the Confluent wire format (`KafkaProtobufSerializer`)."""

from cordwood.core.errors import CordwoodError
from cordwood.spark.formats.format_libraries import PROTOBUF, ensure_library
from cordwood.spark.formats.protobuf_files import indexes_of, message_file
from cordwood.spark.formats.protobuf_records import MessageShape
from cordwood.spark.formats.schema_framing import frame_header, message_indexes
from cordwood.spark.formats.schema_source import SchemaSource
from cordwood.spark.formats.value_decoder import Record
from cordwood.spark.formats.value_encoder import EncodedValue


class ProtobufEncoder:
    """Encodes records as messages of one type."""

    def __init__(self, source: SchemaSource, schema_id: int, message: str | None = None) -> None:
        ensure_library(PROTOBUF)
        from google.protobuf.message_factory import GetMessageClass  # noqa: PLC0415  # an extra

        self._of = f"schema {schema_id}"
        file = message_file(source.by_id(schema_id), source, of=self._of)
        descriptor = file.message_named(message)
        self._header = frame_header(schema_id) + message_indexes(indexes_of(descriptor))
        self._make = GetMessageClass(descriptor)
        self._shape = MessageShape(descriptor, of=self._of)

    def encode(self, record: Record) -> EncodedValue:
        """Encode a record."""
        if record is None:
            return EncodedValue(None, None)
        message = self._make()
        try:
            self._shape.write(record, message)
            return EncodedValue(self._header + message.SerializeToString(), None)
        except CordwoodError as error:
            return EncodedValue(None, f"{self._of}: {error}")
        except Exception as error:  # noqa: BLE001  # the library raises many types for a misfit
            return EncodedValue(None, f"{self._of}: {type(error).__name__}: {error}")
