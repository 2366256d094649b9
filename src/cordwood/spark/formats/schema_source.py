"""Schemas by their ids: a folder, texts, or a registry (`schema_registry`).

    schemas/17.avsc    the Avro schema with id 17 in the registry
    schemas/17.json    a JSON Schema
    schemas/17.desc    a Protobuf file with its imports, as `protoc --include_imports -o` writes it

A folder is read once on the driver and pickled with the tasks: a task needs no registry or disk.
"""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from cordwood.core.errors import CordwoodError, SettingError

AVRO: Final = "AVRO"
JSON: Final = "JSON"
#: A single file in Protobuf; its text is the base64 of a FileDescriptorProto, or the source.
PROTOBUF: Final = "PROTOBUF"
#: A file with its imports; its text is the base64 of a FileDescriptorSet.
PROTOBUF_SET: Final = "PROTOBUF_SET"

_KINDS: Final = {".avsc": AVRO, ".json": JSON, ".desc": PROTOBUF_SET}
#: The suffix of the files with schemas of a kind.
SUFFIXES: Final = {kind: suffix for suffix, kind in _KINDS.items()}


class SchemaReference(NamedTuple):
    """A name in a schema that another subject defines."""

    name: str
    subject: str
    version: int


class SchemaText(NamedTuple):
    """A schema as a registry keeps it."""

    kind: str
    text: str
    references: tuple[SchemaReference, ...] = ()


class UnknownSchemaError(CordwoodError):
    """A schema id that the source of schemas does not have."""


class SchemaSource(Protocol):
    """Schemas by ids; a value that tasks receive, so it can be pickled."""

    def by_id(self, schema_id: int) -> SchemaText:
        """Return a schema; raise UnknownSchemaError if the source does not have it."""

    def by_version(self, subject: str, version: int) -> SchemaText:
        """Return a version of a subject, to which another schema refers."""

    def id_of(self, name: int | str | None) -> int:
        """Return the id that a user's choice means: an id, a subject, or None for the default.

        Raise SettingError if there is no such schema.
        """


class SchemaTexts:
    """A source of given texts; the default schema is the one with the highest id."""

    def __init__(self, texts: Mapping[int, SchemaText]) -> None:
        self._texts = dict(texts)

    def __reduce__(self) -> tuple[type["SchemaTexts"], tuple[dict[int, SchemaText]]]:
        return SchemaTexts, (self._texts,)

    def by_id(self, schema_id: int) -> SchemaText:
        found = self._texts.get(schema_id)
        if found is None:
            raise UnknownSchemaError("not among the given schemas")
        return found

    def by_version(self, subject: str, version: int) -> SchemaText:
        raise UnknownSchemaError(f"version {version} of {subject} is not among the given schemas")

    def id_of(self, name: int | str | None) -> int:
        if name is None:
            return max(self._texts)
        if isinstance(name, int) and name in self._texts:
            return name
        known = sorted(self._texts)
        raise invalid_schemas(
            f"schema {name} is not among {known}", "use one of them, or add the schema"
        )

    def all(self) -> Mapping[int, SchemaText]:
        """Return all texts."""
        return self._texts


def schemas_in(folder: str, kind: str) -> SchemaTexts:
    """Return the schemas of a kind in a folder."""
    place, suffix = Path(folder), SUFFIXES[kind]
    if not place.is_dir():
        raise invalid_schemas(f"folder {place} does not exist", "use the folder with the schemas")
    texts = {}
    for path in sorted(place.glob(f"*{suffix}")):
        if not path.stem.isdecimal():
            raise invalid_schemas(
                f"the name of {path} is not a number",
                f"rename it to the id in the registry: <id>{suffix}",
            )
        texts[int(path.stem)] = SchemaText(kind, _text_of(path, kind))
    if not texts:
        raise invalid_schemas(
            f"{folder!r} contains no schemas", f"store each schema as <id>{suffix}"
        )
    return SchemaTexts(texts)


def given_schemas(texts: Mapping[int, str | bytes], kind: str) -> SchemaTexts:
    """Return schemas that are given by their ids; descriptors are given as bytes."""
    if not texts:
        raise invalid_schemas("no schema is given", "write {id: text}")
    return SchemaTexts(
        {
            number: SchemaText(kind, text if isinstance(text, str) else _base64(text))
            for number, text in texts.items()
        }
    )


def invalid_schemas(problem: str, remedy: str) -> SettingError:
    """Return the error of schemas that cannot be used."""
    return SettingError(f"schemas: {problem}", key="schemas", remedy=remedy)


def _text_of(path: Path, kind: str) -> str:
    if kind == PROTOBUF_SET:
        return _base64(path.read_bytes())
    return path.read_text(encoding="utf-8")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
