"""Schemas of Avro by the ids that a registry gave them, and what their records are in Arrow.

    schemas/17.avsc    the schema that the registry knows as 17

They are read on the driver, once, and travel with the tasks: no task asks a registry, or a disk.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from cordwood.core.errors import SettingError

#: What a schema is in JSON: a name, a union, or anything that has parts.
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
#: Where a schema has others in it.
_PARTS: Final = ("type", "items", "values", "fields")


def schemas_in(place: str | Mapping[int, str]) -> dict[int, Schema]:
    """Return the schemas of a folder, or of texts by id; SettingError if one cannot be used."""
    texts = _texts_in(Path(place)) if isinstance(place, str) else place
    if not texts:
        raise _unsound(f"{place!r} has no schemas", f"put each into a file <id>{_SUFFIX} there")
    schemas = {number: _parsed(number, text) for number, text in texts.items()}
    for number, schema in schemas.items():
        arrow_type(schema, of=f"schema {number}")
    return schemas


def arrow_type(schema: Schema, *, of: str) -> pa.DataType:
    """Return what values of a schema are in Arrow; `of` says whose it is, where that is nothing."""
    return _Types(of).type_of(schema, path=())


class _Types:
    """The types of one schema; what has a name in it may come again by that name."""

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
            self._named[full_name] = None  # until it is known what it is
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
            raise self._refused(path, f"is a {name} within a {name}, which no column can be")
        return known

    def _union(self, members: list[Schema], path: tuple[str, ...]) -> pa.DataType:
        types = [self.type_of(each, path=path) for each in members if each != "null"]
        widest = [each for each in types if all(_holds(each, other) for other in types)]
        if not widest:
            said = " or ".join(map(str, types)) or "nothing but null"
            raise self._refused(path, f"may be {said}, which is no type of Spark's")
        return widest[0]

    def _refused(self, path: tuple[str, ...], problem: str) -> SettingError:
        where = ".".join(path) or "it"
        remedy = "decode it by a function of your own, in `scan(...).map_arrow`"
        return _unsound(f"{self._of}: {where} {problem}", remedy)


#: Kinds of schemas that have parts or names, and what makes a type of them.
_COMPLEX: Final[Mapping[str, Callable[[_Types, dict[str, Any], tuple[str, ...]], pa.DataType]]] = {
    "record": _Types.record,
    "enum": lambda _types, _schema, _path: pa.string(),
    "fixed": lambda _types, _schema, _path: pa.binary(),
    "array": lambda types, schema, path: pa.list_(types.type_of(schema["items"], path=path)),
    "map": lambda types, schema, path: pa.map_(
        pa.string(), types.type_of(schema["values"], path=path)
    ),
}


def _holds(wide: pa.DataType, narrow: pa.DataType) -> bool:
    """Whether each value of one type is one of the other."""
    numbers = [(pa.int64(), pa.int32()), (pa.float64(), pa.float32())]
    return bool(wide == narrow) or (wide, narrow) in numbers


def _texts_in(folder: Path) -> dict[int, str]:
    if not folder.is_dir():
        raise _unsound(f"there is no folder {folder}", "name the one that has the schemas")
    texts = {}
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        if not path.stem.isdecimal():
            raise _unsound(
                f"{path} is not named by a number", f"name it as the registry does: <id>{_SUFFIX}"
            )
        texts[int(path.stem)] = path.read_text(encoding="utf-8")
    return texts


def _parsed(number: int, text: str) -> Schema:
    """Return a schema with full names, without logical types that Spark has no type for."""
    from fastavro import parse_schema  # noqa: PLC0415  # an extra
    from fastavro.schema import SchemaParseException, UnknownType  # noqa: PLC0415  # as above

    try:
        parsed = parse_schema(json.loads(text))
    except (ValueError, SchemaParseException, UnknownType) as error:
        raise _unsound(f"schema {number} is none: {error}", "take it from the registry") from error
    return _without_unknown(parsed)


def _without_unknown(schema: Schema) -> Schema:
    """Return a schema whose values are what `arrow_type` says."""
    if isinstance(schema, list):
        return [_without_unknown(each) for each in schema]
    if isinstance(schema, str):
        return schema
    return {
        name: _without_unknown(value) if name in _PARTS else value
        for name, value in schema.items()
        if not name.startswith("__") and (name != "logicalType" or value in _LOGICAL)
    }


def _unsound(problem: str, remedy: str) -> SettingError:
    return SettingError(problem, key="schemas", remedy=remedy)
