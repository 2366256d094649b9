"""Avro schemas, and the Arrow types of their records."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import pyarrow as pa

from cordwood.core.errors import SettingError
from cordwood.spark.formats.format_libraries import FASTAVRO, ensure_library
from cordwood.spark.formats.schema_source import (
    AVRO,
    SchemaSource,
    SchemaText,
    SchemaTexts,
    UnknownSchemaError,
    invalid_schemas,
)

#: A parsed schema: a type name, a union, or a complex type.
Schema = str | list[Any] | dict[str, Any]

_PLAIN: Final = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_TIMES: Final = {
    "date": pa.date32(),
    "timestamp-millis": pa.timestamp("us", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "local-timestamp-millis": pa.timestamp("us"),
    "local-timestamp-micros": pa.timestamp("us"),
}
_LOGICAL: Final = (*_TIMES, "decimal")
#: Keys of a complex type that contain other schemas.
_PARTS: Final = ("type", "items", "values", "fields")
#: Types that have a name.
_NAMED: Final = ("record", "error", "enum", "fixed")


def parse_avro(schema: SchemaText, source: SchemaSource, *, of: str) -> Schema:
    """Parse a schema to full names, with the schemas that it refers to in it.

    Logical types that Spark does not support are removed. `of` names the schema in errors; raise
    SettingError for a schema that cannot be used, and SparkError without the library.
    """
    ensure_library(FASTAVRO)
    if schema.kind != AVRO:
        raise invalid_schemas(
            f"{of} is a schema in {schema.kind}, not in Avro",
            "use the transformation of its format",
        )
    named: dict[str, Schema] = {}
    _parse_references(schema, source, named, of=of)
    parsed = _parsed(schema.text, named, of=of)
    return _without_unknown(_Inlining(named).inlined(parsed))


def load_avro(source: SchemaTexts) -> None:
    """Raise SettingError unless each of the given schemas can be used."""
    for number, text in source.all().items():
        arrow_type(parse_avro(text, source, of=f"schema {number}"), of=f"schema {number}")


def arrow_type(schema: Schema, *, of: str) -> pa.DataType:
    """Return the Arrow type of a schema; `of` names the schema in errors."""
    return _SchemaTypes(of).type_of(schema, path=())


class _SchemaTypes:
    """Converts one schema; named types in it may be referenced by name."""

    def __init__(self, of: str) -> None:
        self._of = of
        self._named: dict[str, pa.DataType | None] = {}

    def type_of(self, schema: Schema, *, path: tuple[str, ...]) -> pa.DataType:
        if isinstance(schema, list):
            return self._union(schema, path)
        if isinstance(schema, str):
            return self._by_name(schema, path)
        name = str(schema["type"]) if isinstance(schema["type"], str) else ""
        if (logical := schema.get("logicalType")) is not None:
            of_it = _TIMES.get(logical) or pa.decimal128(
                schema["precision"], schema.get("scale", 0)
            )
            if "name" in schema:
                self._named[schema["name"]] = of_it
            return of_it
        make = _COMPLEX.get(name)
        if make is None:
            return self.type_of(schema["type"], path=path)
        full_name = schema.get("name")
        if full_name is not None:
            self._named[full_name] = None  # until the type is complete
        made = make(self, schema, path)
        if full_name is not None:
            self._named[full_name] = made
        return made

    def record(self, schema: dict[str, Any], path: tuple[str, ...]) -> pa.DataType:
        return pa.struct(
            pa.field(field["name"], self.type_of(field["type"], path=(*path, field["name"])))
            for field in schema["fields"]
        )

    def _by_name(self, name: str, path: tuple[str, ...]) -> pa.DataType:
        if name in _PLAIN:
            return _PLAIN[name]
        known = self._named.get(name)
        if known is None:
            raise self._unsupported(
                path, f"is recursive ({name} within {name}), which no column can be"
            )
        return known

    def _union(self, members: list[Schema], path: tuple[str, ...]) -> pa.DataType:
        types = [self.type_of(each, path=path) for each in members if each != "null"]
        widest = [each for each in types if all(_includes(each, other) for other in types)]
        if not widest:
            members_text = " or ".join(map(str, types)) or "null only"
            raise self._unsupported(path, f"is a union of {members_text}, which Spark lacks")
        return widest[0]

    def _unsupported(self, path: tuple[str, ...], problem: str) -> SettingError:
        where = ".".join(path) or "the schema"
        remedy = "decode it with your own function in `scan(...).map_arrow`"
        return invalid_schemas(f"{self._of}: {where} {problem}", remedy)


#: Complex types, with the functions that convert them.
_COMPLEX: Final[
    Mapping[str, Callable[[_SchemaTypes, dict[str, Any], tuple[str, ...]], pa.DataType]]
] = {
    "record": _SchemaTypes.record,
    "enum": lambda _types, _schema, _path: pa.string(),
    "fixed": lambda _types, _schema, _path: pa.binary(),
    "array": lambda types, schema, path: pa.list_(types.type_of(schema["items"], path=path)),
    "map": lambda types, schema, path: pa.map_(
        pa.string(), types.type_of(schema["values"], path=path)
    ),
}


def _includes(wide: pa.DataType, narrow: pa.DataType) -> bool:
    """Return whether the wide type includes all values of the narrow one."""
    numbers = [(pa.int64(), pa.int32()), (pa.float64(), pa.float32())]
    return bool(wide == narrow) or (wide, narrow) in numbers


def _parse_references(
    schema: SchemaText, source: SchemaSource, named: dict[str, Schema], *, of: str
) -> None:
    """Add the types that a schema refers to, those that these refer to first."""
    for each in schema.references:
        if each.name in named:
            continue
        try:
            text = source.by_version(each.subject, each.version)
        except UnknownSchemaError as error:
            raise invalid_schemas(
                f"{of} refers to {each.name}: {error}", "register the schema that it refers to"
            ) from error
        _parse_references(text, source, named, of=of)
        _parsed(text.text, named, of=of)


def _parsed(text: str, named: dict[str, Schema], *, of: str) -> Schema:
    from fastavro import parse_schema  # noqa: PLC0415  # an extra
    from fastavro.schema import SchemaParseException, UnknownType  # noqa: PLC0415  # as above

    try:
        return parse_schema(json.loads(text), named_schemas=named)  # type: ignore[arg-type]  # a dict of dicts
    except (ValueError, SchemaParseException, UnknownType) as error:
        raise invalid_schemas(
            f"{of}: not a valid schema ({error})", "get it from the registry"
        ) from error


class _Inlining:
    """Puts the definition of each named type where its name comes first."""

    def __init__(self, named: Mapping[str, Schema]) -> None:
        self._named = named
        self._defined: set[str] = set()

    def inlined(self, schema: Schema) -> Schema:
        if isinstance(schema, list):
            return [self.inlined(each) for each in schema]
        if isinstance(schema, str):
            is_first = schema in self._named and schema not in self._defined
            return self.inlined(self._named[schema]) if is_first else schema
        if schema["type"] in _NAMED:
            self._defined.add(schema["name"])
        return {name: self._part(name, value) for name, value in schema.items()}

    def _part(self, name: str, value: Schema) -> Schema:
        if name == "fields":
            fields = cast("list[dict[str, Schema]]", value)
            return [{**each, "type": self.inlined(each["type"])} for each in fields]
        return self.inlined(value) if name in _PARTS else value


def _without_unknown(schema: Schema) -> Schema:
    """Return the schema without the parser's own keys and unsupported logical types."""
    if isinstance(schema, list):
        return [_without_unknown(each) for each in schema]
    if isinstance(schema, str):
        return schema
    return {
        name: _without_unknown(value) if name in _PARTS else value
        for name, value in schema.items()
        if not name.startswith("__") and (name != "logicalType" or value in _LOGICAL)
    }
