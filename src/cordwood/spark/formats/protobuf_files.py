"""Message types of Protobuf schemas (Confluent: `ProtobufSchema`).

    PROTOBUF        one file, as a descriptor or as source, and references to the files it imports
    PROTOBUF_SET    a file and all files that it imports, as descriptors; the file is the last one

Files of `google/protobuf` need not be given.
"""

import base64
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cordwood.core.errors import SettingError
from cordwood.spark.formats.schema_source import (
    PROTOBUF,
    PROTOBUF_SET,
    SchemaReference,
    SchemaSource,
    SchemaText,
    UnknownSchemaError,
    invalid_schemas,
)

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FileDescriptor
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

_GIVEN: Final = "google/protobuf/"
#: The name of a file whose schema does not give it one.
_NAMELESS: Final = "schema.proto"


class MessageFile(NamedTuple):
    """A file of message types; `of` names the schema in errors."""

    file: "FileDescriptor"
    of: str

    def message_at(self, indexes: Sequence[int]) -> "Descriptor | None":
        """Return the message type at a path of indexes; None if there is none."""
        types: Sequence[Any] = list(self.file.message_types_by_name.values())
        found = None
        for index in indexes:
            if index >= len(types):
                return None
            found = types[index]
            types = found.nested_types
        return found

    def message_named(self, name: str | None) -> "Descriptor":
        """Return the message type with a full or a short name; the first one if it is None."""
        known = list(_messages(self.file.message_types_by_name.values()))
        for each in known:
            if name is None or name in (each.full_name, each.name):
                return each
        names = ", ".join(each.full_name for each in known) or "none"
        raise invalid_schemas(
            f"{self.of} has no message type {name}", f"use one of its types: {names}"
        )


def indexes_of(message: "Descriptor") -> list[int]:
    """Return the path of indexes to a message type in its file."""
    outer = message.containing_type
    if outer is None:
        return [[*message.file.message_types_by_name].index(message.name)]
    names = [each.name for each in outer.nested_types]
    return [*indexes_of(outer), names.index(message.name)]


def message_file(schema: SchemaText, source: SchemaSource, *, of: str) -> MessageFile:
    """Return the file of a schema; raise SettingError for a schema that cannot be used."""
    from google.protobuf.descriptor_pool import DescriptorPool  # noqa: PLC0415  # an extra

    if schema.kind not in (PROTOBUF, PROTOBUF_SET):
        raise invalid_schemas(
            f"{of} is a schema in {schema.kind}, not in Protobuf",
            "use the transformation of its format",
        )
    files = _ImportedFiles(source, of).all_of(schema)
    pool = DescriptorPool()
    try:
        for each in files:
            pool.AddSerializedFile(each.SerializeToString())
        file = pool.FindFileByName(files[-1].name)
    except (KeyError, TypeError, ValueError) as error:
        raise invalid_schemas(
            f"{of}: not a valid schema ({error})", "get it from the registry"
        ) from error
    return MessageFile(file, of)


class _ImportedFiles:
    """The files of one schema, those that are imported first."""

    def __init__(self, source: SchemaSource, of: str) -> None:
        self._source = source
        self._of = of
        self._texts: dict[str, str] = {}

    def all_of(self, schema: SchemaText) -> "list[FileDescriptorProto]":
        if schema.kind == PROTOBUF_SET:
            return _with_given(self._files_of_set(schema.text))
        self._add_texts(schema, _NAMELESS)
        described = {name: _described(name, text) for name, text in self._texts.items()}
        files = [each for each in described.values() if each is not None]
        if len(files) < len(described):
            return compiled(self._texts, of=self._of)
        return _with_given(files)

    def _files_of_set(self, text: str) -> "list[FileDescriptorProto]":
        from google.protobuf.descriptor_pb2 import FileDescriptorSet  # noqa: PLC0415  # an extra
        from google.protobuf.message import DecodeError  # noqa: PLC0415  # as above

        try:
            found = FileDescriptorSet.FromString(base64.b64decode(text))
        except DecodeError as error:
            raise self._invalid("not a set of descriptors") from error
        if not found.file:
            raise self._invalid("a set without a file")
        return list(found.file)

    def _add_texts(self, schema: SchemaText, name: str) -> None:
        for each in schema.references:
            if each.name not in self._texts:
                self._add_texts(self._referenced(each), each.name)
        self._texts[name] = schema.text

    def _referenced(self, reference: SchemaReference) -> SchemaText:
        try:
            return self._source.by_version(reference.subject, reference.version)
        except UnknownSchemaError as error:
            raise invalid_schemas(
                f"{self._of} imports {reference.name}: {error}", "register the file that it imports"
            ) from error

    def _invalid(self, problem: str) -> SettingError:
        return invalid_schemas(
            f"{self._of}: {problem}",
            "write it with protoc --include_imports --descriptor_set_out=<id>.desc <file>.proto",
        )


def compiled(texts: Mapping[str, str], *, of: str) -> "list[FileDescriptorProto]":
    """Return the files that are given as sources by their names, the last one with its imports.

    It needs the package grpcio-tools.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorSet  # noqa: PLC0415  # an extra

    try:
        from grpc_tools import protoc  # noqa: PLC0415  # not a dependency
    except ImportError as error:
        raise invalid_schemas(
            f"{of} is the source of a Protobuf file, which has to be compiled",
            "install the package grpcio-tools on driver and workers, or store its descriptor as"
            " <id>.desc in a folder",
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        sources, out = Path(folder, "sources"), Path(folder, "out")
        for name, text in texts.items():
            place = sources / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        given = Path(protoc.__file__).parent / "_proto"
        words = ["protoc", f"-I{sources}", f"-I{given}", "--include_imports", f"-o{out}"]
        if protoc.main([*words, str(sources / [*texts][-1])]) != 0:
            raise invalid_schemas(f"{of}: not a valid Protobuf file", "get it from the registry")
        return list(FileDescriptorSet.FromString(out.read_bytes()).file)


def _described(name: str, text: str) -> "FileDescriptorProto | None":
    """Return a file that is given as a descriptor; None if it is given as source."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415  # an extra
    from google.protobuf.message import DecodeError  # noqa: PLC0415  # as above

    try:
        file = FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (ValueError, DecodeError):
        return None
    file.name = name
    return file


def _with_given(files: "Sequence[FileDescriptorProto]") -> "list[FileDescriptorProto]":
    """Return files with those of `google/protobuf` that they import before them."""
    found: dict[str, FileDescriptorProto] = {}
    for file in files:
        _add_given(file, found)
        found[file.name] = file
    return [*found.values()]


def _add_given(file: "FileDescriptorProto", found: "dict[str, FileDescriptorProto]") -> None:
    for name in file.dependency:
        given = _given_file(name) if name.startswith(_GIVEN) and name not in found else None
        if given is not None:
            _add_given(given, found)
            found[name] = given


def _given_file(name: str) -> "FileDescriptorProto | None":
    """Return a file that comes with the library."""
    from importlib import import_module  # noqa: PLC0415  # used for Protobuf alone

    from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415  # an extra

    try:
        module = import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    except ImportError:
        return None
    return FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)


def _messages(types: "Iterator[Descriptor] | Sequence[Descriptor]") -> "Iterator[Descriptor]":
    """Yield message types and those nested in them, without the entries of maps."""
    for each in types:
        if not each.GetOptions().map_entry:
            yield each
            yield from _messages(each.nested_types)
