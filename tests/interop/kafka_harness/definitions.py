"""Kafka's own definitions of its messages, as its jars carry them, in a shape that ours have too.

A shape is what one version of a message has: its fields in the order of the wire, each with all
that decides about its bytes.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, cast
from zipfile import ZipFile

from cordwood.core.uuids import NO_UUID, parse_uuid
from cordwood.protocol.schema import Field, ListOf, Message, Struct, WireKind, default_of
from cordwood.protocol.wire_types import FixedSizeType, LengthPrefixedType
from tests.interop.kafka_harness.jars import Jars

Json: TypeAlias = Mapping[str, object]

STRUCT_OF_DEFAULTS: Final = "a struct of defaults"

GIVEN: Final = "always given"
"""The value of an unused default."""


class Shape(NamedTuple):
    """One field in one version; the fields of its struct follow, with its name in front.

    The ignorable flag matters only if a supported version has its struct and lacks the field. The
    default matters only there, or where a caller may omit the field.
    """

    name: str
    type: str
    is_nullable: bool
    tag: int | None
    is_flexible: bool
    is_ignorable: bool
    default: object


def definitions(jars: Jars) -> dict[str, Json]:
    """Every message of a version of Kafka, by its name."""
    paths = (jars.folder / "jars").glob("kafka-*.jar")
    return {str(each["name"]): each for path in paths for each in _definitions(path)}


def _definitions(path: Path) -> Iterator[Json]:
    with ZipFile(path) as jar:
        for name in jar.namelist():
            if re.fullmatch(r"common/message/\w+\.json", name):
                text = re.sub(r"(?m)(^|\s)//.*$", "", jar.read(name).decode())
                yield cast("Json", json.loads(text))


def versions(text: object) -> range:
    """The versions that Kafka writes as "3", "0-7", "2+" or "none"."""
    first, dash, last = re.fullmatch(r"(\d+)([-+]?)(\d*)|none", str(text)).groups()  # type: ignore[union-attr]  # another form fails the test
    if first is None:
        return range(0)
    until = {"-": last, "+": 0x7FFF, "": first}[dash]
    return range(int(first), int(until) + 1)


def spoken(kind: type[Message]) -> range:
    """The versions of a message that we declare."""
    first, last = kind.__schema__.versions
    return range(first, last + 1)


def kafkas_shapes(definition: Json, version: int, kind: type[Message]) -> tuple[Shape, ...]:
    """Return the fields of a version in Kafka's definition of a message."""
    return tuple(_KafkasShapes(definition, version).of(_fields(definition), spoken(kind)))


class _KafkasShapes:
    def __init__(self, definition: Json, version: int) -> None:
        self._version = version
        self._is_flexible = version in versions(definition.get("flexibleVersions", "none"))
        structs = cast("list[Json]", definition.get("commonStructs", []))
        self._structs = {str(each["name"]): each for each in structs}

    def of(self, fields: list[Json], spoken: Iterable[int], path: str = "") -> Iterator[Shape]:
        for field in fields:
            having = versions(field.get("versions", field.get("taggedVersions")))
            there = [version for version in spoken if version in having]
            if self._version in there:
                is_always_there = there == list(spoken)
                shape = self._shape(field, path, is_always_there=is_always_there)
                yield shape
                element = str(field["type"]).removeprefix("[]")
                struct = field if "fields" in field else self._structs.get(element, {})
                yield from self.of(_fields(struct), there, f"{shape.name}.")

    def _shape(self, field: Json, path: str, *, is_always_there: bool) -> Shape:
        type_ = str(field["type"])
        element = type_.removeprefix("[]")
        is_tagged = self._version in versions(field.get("taggedVersions", "none"))
        is_flexible = "flexibleVersions" not in field and self._is_flexible
        return Shape(
            name=path + str(field["name"]).lower(),
            type=type_.replace(element, "struct") if element[0].isupper() else type_,
            is_nullable=self._version in versions(field.get("nullableVersions", "none")),
            tag=cast("int", field["tag"]) if is_tagged else None,
            is_flexible=is_flexible,
            is_ignorable=field.get("ignorable") is True and not is_always_there,
            default=_kafkas_default(type_, field.get("default")),
        )


def _fields(definition: Json) -> list[Json]:
    return cast("list[Json]", definition.get("fields", []))


def _kafkas_default(type_: str, default: object) -> object:
    """The value that Kafka's text stands for; each type reads it its own way."""
    if default == "null" or (type_ == "records" and default is None):
        return None
    if type_.startswith("[]"):
        return []
    if type_[0].isupper():
        return STRUCT_OF_DEFAULTS
    zero, read = _SCALARS.get(type_, (0, lambda text: int(text, 0)))
    return zero if default is None else read(str(default))


_SCALARS: Mapping[str, tuple[object, Callable[[str], object]]] = {
    "string": ("", str),
    "bytes": (b"", str.encode),
    "uuid": (NO_UUID, parse_uuid),
    "bool": (False, lambda text: text.lower() == "true"),
    "float64": (0.0, float),
}


def our_shapes(kind: type[Message], version: int) -> tuple[Shape, ...]:
    """Return the fields of a version in our declaration."""
    is_flexible = kind.__schema__.is_flexible_in(version)
    return tuple(_OurShapes(version, is_flexible=is_flexible).of(kind, spoken(kind)))


class _OurShapes:
    def __init__(self, version: int, *, is_flexible: bool) -> None:
        self._version = version
        self._is_flexible = is_flexible

    def of(self, kind: type[Struct], spoken: Iterable[int], path: str = "") -> Iterator[Shape]:
        for field in kind.__schema__.fields:
            there = [version for version in spoken if field.is_in(version)]
            if self._version in there:
                is_always_there = there == list(spoken)
                shape = self._shape(field, path, is_always_there=is_always_there)
                yield shape
                element = field.kind.element if isinstance(field.kind, ListOf) else field.kind
                if isinstance(element, type):
                    yield from self.of(element, there, f"{shape.name}.")

    def _shape(self, field: Field, path: str, *, is_always_there: bool) -> Shape:
        type_ = _type(field.kind)
        is_tagged = field.is_tagged_in(self._version)
        default = default_of(field)
        is_nullable = field.is_nullable_in(self._version)
        if type_ == "struct" and is_tagged and not field.has_null_marker_in(self._version):
            # Ours is None where the tag is absent, and that is Kafka's default.
            is_nullable, default = False, STRUCT_OF_DEFAULTS
        if field.is_required and is_always_there:
            default = GIVEN
        return Shape(
            name=path + field.kafka_name.lower(),
            type=type_,
            is_nullable=is_nullable,
            tag=field.tag if is_tagged else None,
            is_flexible=field.is_flexible and self._is_flexible,
            is_ignorable=field.is_ignorable and not is_always_there,
            default=STRUCT_OF_DEFAULTS if isinstance(default, Struct) else default,
        )


def _type(kind: WireKind) -> str:
    if isinstance(kind, FixedSizeType | LengthPrefixedType):
        return kind.name
    return f"[]{_type(kind.element)}" if isinstance(kind, ListOf) else "struct"
