"""Decoder of Protobuf values in the Confluent wire format (Confluent: `KafkaProtobufDeserializer`).

Values are decoded as the reader's message type: fields that it lacks are skipped, as Protobuf does.
The schema of a value names its message type, which must be the reader's.
"""

from typing import Final, NamedTuple

from cordwood.core.errors import CorruptMessageError, SettingError
from cordwood.spark.formats.protobuf_files import MessageFile, message_file
from cordwood.spark.formats.protobuf_records import MessageShape
from cordwood.spark.formats.schema_framing import HEADER_BYTES, read_frame, read_message_indexes
from cordwood.spark.formats.schema_source import SchemaSource, UnknownSchemaError
from cordwood.spark.formats.value_decoder import NULL_VALUE, DecodedValue

_OUTSIDE: Final = "message indexes {} are not in the schema"


class _ProtobufWriter(NamedTuple):
    """The file of a schema id, or the error of its values."""

    file: MessageFile | None
    error: str = ""


class ProtobufDecoder:
    """Decodes values of several writer schemas to records of one message type."""

    def __init__(self, source: SchemaSource, reader: int, message: str | None = None) -> None:
        from google.protobuf.message_factory import GetMessageClass  # noqa: PLC0415  # an extra

        self._source = source
        of = f"schema {reader}"
        descriptor = message_file(source.by_id(reader), source, of=of).message_named(message)
        self._name = descriptor.full_name
        self._make = GetMessageClass(descriptor)
        self._shape = MessageShape(descriptor, of=of)
        self.record_type = self._shape.arrow
        self._writers: dict[int, _ProtobufWriter] = {}

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
        if writer.file is None:
            return DecodedValue(number, None, writer.error)
        try:
            return DecodedValue(number, self._read(writer.file, value), None)
        except CorruptMessageError as error:
            return DecodedValue(number, None, f"schema {number}: {error}")

    def _writer(self, number: int) -> _ProtobufWriter:
        try:
            text = self._source.by_id(number)
            return _ProtobufWriter(message_file(text, self._source, of=f"schema {number}"))
        except UnknownSchemaError as error:
            return _ProtobufWriter(None, f"schema {number}: {error}")
        except SettingError as error:
            return _ProtobufWriter(None, error.problem)

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
