"""JSON Schemas, and the Spark types of their values (Confluent: `JsonSchemaConverter`).

    object     a struct of its properties, or a map if it has `additionalProperties` alone
    array      an array of `items`
    string     string; with the format `date` or `date-time` a date or a timestamp
    integer    bigint
    number     double
    boolean    boolean

Each column is nullable. A union is one type and `null`.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from cordwood.core.errors import SettingError
from cordwood.spark.formats.schema_source import JSON, SchemaText, invalid_schemas

_PLAIN: Final[Mapping[str, DataType]] = {
    "boolean": BooleanType(),
    "integer": LongType(),
    "number": DoubleType(),
    "string": StringType(),
}
_FORMATS: Final[Mapping[str, DataType]] = {"date": DateType(), "date-time": TimestampType()}
_UNIONS: Final = ("oneOf", "anyOf")


def parse_json_schema(schema: SchemaText, *, of: str) -> DataType:
    """Return the Spark type of a JSON Schema; `of` names it in errors."""
    if schema.kind != JSON:
        raise invalid_schemas(
            f"{of} is a schema in {schema.kind}, not a JSON Schema",
            "use the transformation of its format",
        )
    try:
        parsed = json.loads(schema.text)
    except ValueError as error:
        raise invalid_schemas(f"{of}: not JSON ({error})", "get it from the registry") from error
    return _JsonTypes(parsed, of).type_of(parsed, path=(), within=())


class _JsonTypes:
    """Converts the parts of one schema."""

    def __init__(self, root: object, of: str) -> None:
        self._root = root
        self._of = of

    def type_of(
        self, schema: object, *, path: tuple[str, ...], within: tuple[str, ...]
    ) -> DataType:
        """Return the type of a part; `within` has the references that lead to it."""
        if not isinstance(schema, dict):
            raise self._unsupported(path, "allows any value")
        if (reference := schema.get("$ref")) is not None:
            return self._referenced(str(reference), path, within)
        for union in _UNIONS:
            if union in schema:
                return self._only(schema[union], path, within)
        name = schema.get("type")
        if isinstance(name, list):
            return self._only([{**schema, "type": each} for each in name], path, within)
        if name == "object" or (name is None and "properties" in schema):
            return self._object(schema, path, within)
        if name == "array":
            items = self.type_of(schema.get("items"), path=(*path, "items"), within=within)
            return ArrayType(items)
        plain = _PLAIN.get(str(name))
        if plain is None:
            raise self._unsupported(path, f"has the type {name}")
        return _FORMATS.get(str(schema.get("format")), plain) if name == "string" else plain

    def _object(
        self, schema: Mapping[str, Any], path: tuple[str, ...], within: tuple[str, ...]
    ) -> DataType:
        properties = schema.get("properties")
        if properties:
            fields = [
                StructField(name, self.type_of(part, path=(*path, name), within=within))
                for name, part in properties.items()
            ]
            return StructType(fields)
        values = self.type_of(schema.get("additionalProperties"), path=(*path, "*"), within=within)
        return MapType(StringType(), values)

    def _only(self, members: list[Any], path: tuple[str, ...], within: tuple[str, ...]) -> DataType:
        others = [each for each in members if not _is_null(each)]
        if len(others) != 1:
            raise self._unsupported(path, f"is a union of {len(others)} types")
        return self.type_of(others[0], path=path, within=within)

    def _referenced(
        self, reference: str, path: tuple[str, ...], within: tuple[str, ...]
    ) -> DataType:
        if reference in within:
            raise self._unsupported(path, f"is recursive ({reference})")
        part = self._root
        for step in filter(None, reference.removeprefix("#").split("/")):
            part = part.get(step) if isinstance(part, dict) else None
        if not reference.startswith("#") or part is None:
            raise self._unsupported(path, f"refers to {reference}, which is not in the schema")
        return self.type_of(part, path=path, within=(*within, reference))

    def _unsupported(self, path: tuple[str, ...], problem: str) -> SettingError:
        where = ".".join(path) or "the value"
        return invalid_schemas(
            f"{self._of}: {where} {problem}, which no column can have",
            "give the columns yourself, as the option `columns`",
        )


def _is_null(schema: object) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"
