"""Avro schemas by their registry ids, and the Arrow types of their records.

    schemas/17.avsc    the schema with id 17 in the registry

Schemas are loaded once on the driver and pickled with the tasks: a task needs no registry or disk.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from cordwood.core.errors import SettingError

#: A parsed schema: a type name, a union, or a complex type.
Schema = str | list[Any] | dict[str, Any]

_SUFFIX: Final = ".avsc"
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


def load_schemas(place: str | Mapping[int, str]) -> dict[int, Schema]:
    """Load schemas from a folder, or from texts by id; raise SettingError for an unusable one."""
    texts = _texts_in(Path(place)) if isinstance(place, str) else place
    if not texts:
        raise _invalid(
            f"schemas: {place!r} contains no schemas", f"store each schema as <id>{_SUFFIX}"
        )
    schemas = {number: _parsed(number, text) for number, text in texts.items()}
    for number, schema in schemas.items():
        arrow_type(schema, of=f"schema {number}")
    return schemas


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
            return _TIMES.get(logical) or pa.decimal128(schema["precision"], schema.get("scale", 0))
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
        return _invalid(f"{self._of}: {where} {problem}", remedy)


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


def _texts_in(folder: Path) -> dict[int, str]:
    if not folder.is_dir():
        raise _invalid(
            f"schemas: folder {folder} does not exist", "use the folder with the schemas"
        )
    texts = {}
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        if not path.stem.isdecimal():
            raise _invalid(
                f"schemas: the name of {path} is not a number",
                f"rename it to the id in the registry: <id>{_SUFFIX}",
            )
        texts[int(path.stem)] = path.read_text(encoding="utf-8")
    return texts


def _parsed(number: int, text: str) -> Schema:
    """Parse a schema to full names, without logical types that Spark does not support."""
    from fastavro import parse_schema  # noqa: PLC0415  # an extra
    from fastavro.schema import SchemaParseException, UnknownType  # noqa: PLC0415  # as above

    try:
        parsed = parse_schema(json.loads(text))
    except (ValueError, SchemaParseException, UnknownType) as error:
        raise _invalid(
            f"schema {number}: not a valid schema ({error})", "get it from the registry"
        ) from error
    return _without_unknown(parsed)


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


def _invalid(problem: str, remedy: str) -> SettingError:
    return SettingError(problem, key="schemas", remedy=remedy)
