"""Decoder of Protobuf values in the Confluent wire format (Confluent: `KafkaProtobufDeserializer`).

Values are decoded as the reader's message type: fields that it lacks are skipped, as Protobuf does.
The schema of a value names its message type, which must be the reader's.
"""

from typing import Final

from cordwood.core.errors import CorruptMessageError
from cordwood.spark.formats.format_libraries import PROTOBUF, ensure_library
from cordwood.spark.formats.framed_decoder import FramedDecoder
from cordwood.spark.formats.protobuf_files import MessageFile, message_file
from cordwood.spark.formats.protobuf_records import MessageShape
from cordwood.spark.formats.schema_framing import HEADER_BYTES, read_message_indexes
from cordwood.spark.formats.schema_source import SchemaSource, SchemaText
from cordwood.spark.formats.value_decoder import DecodedValue

_OUTSIDE: Final = "message indexes {} are not in the schema"


class ProtobufDecoder:
    """Decodes values of several writer schemas to records of one message type."""

    def __init__(self, source: SchemaSource, reader: int, message: str | None = None) -> None:
        ensure_library(PROTOBUF)
        from google.protobuf.message_factory import GetMessageClass  # noqa: PLC0415  # an extra

        self._source = source
        of = f"schema {reader}"
        descriptor = message_file(source.by_id(reader), source, of=of).message_named(message)
        self._name = descriptor.full_name
        self._make = GetMessageClass(descriptor)
        self._shape = MessageShape(descriptor, of=of)
        self.record_type = self._shape.arrow
        self._framed = FramedDecoder(source, prepare=self._prepare, read=self._read)

    def decode(self, value: bytes | None) -> DecodedValue:
        """Decode a value."""
        return self._framed.decode(value)

    def _prepare(self, text: SchemaText, of: str) -> MessageFile:
        return message_file(text, self._source, of=of)

    def _read(self, file: MessageFile, value: bytes) -> dict[str, object]:
        from google.protobuf.message import DecodeError  # noqa: PLC0415  # an extra

        indexes, at = read_message_indexes(value, HEADER_BYTES)
        found = file.message_at(indexes)
        if found is None:
            raise CorruptMessageError(_OUTSIDE.format(indexes))
        if found.full_name != self._name:
            raise CorruptMessageError(f"a message of type {found.full_name}, not {self._name}")
        message = self._make()
        try:
            message.ParseFromString(value[at:])
        except DecodeError as error:
            raise CorruptMessageError(str(error)) from error
        return self._shape.read(message)
