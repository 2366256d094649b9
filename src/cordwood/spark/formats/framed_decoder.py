"""Decoding of values in the Confluent wire format: the part that all formats share.

The schema of an id is prepared once for each decoder. A value with an unknown schema, one that
cannot be used, or bytes that its schema does not fit has an error.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from cordwood.core.errors import CorruptMessageError, SettingError
from cordwood.spark.formats.schema_framing import read_frame
from cordwood.spark.formats.schema_source import SchemaSource, SchemaText, UnknownSchemaError
from cordwood.spark.formats.value_decoder import NULL_VALUE, DecodedValue, Record

T = TypeVar("T")


class _Prepared(NamedTuple, Generic[T]):
    """A prepared schema, or the error of its values."""

    schema: T | None
    error: str = ""


class FramedDecoder(Generic[T]):
    """Decodes values by the schemas of their ids.

    `prepare` returns a schema as `read` takes it, given its text and its name in errors. `read`
    returns the record of a value, and raises CorruptMessageError if there is none.
    """

    def __init__(
        self,
        source: SchemaSource,
        *,
        prepare: Callable[[SchemaText, str], T],
        read: Callable[[T, bytes], Record],
    ) -> None:
        self._source = source
        self._prepare = prepare
        self._read = read
        self._writers: dict[int, _Prepared[T]] = {}

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
        if writer.schema is None:
            return DecodedValue(number, None, writer.error)
        try:
            return DecodedValue(number, self._read(writer.schema, value), None)
        except CorruptMessageError as error:
            return DecodedValue(number, None, f"schema {number}: {error}")

    def _writer(self, number: int) -> _Prepared[T]:
        of = f"schema {number}"
        try:
            return _Prepared(self._prepare(self._source.by_id(number), of))
        except UnknownSchemaError as error:
            return _Prepared(None, f"{of}: {error}")
        except SettingError as error:
            return _Prepared(None, error.problem)
