"""`meta.properties` of a log directory (Kafka: `MetaProperties`, `MetaPropertiesEnsemble`).

The file names the cluster and the broker that own the directory, and the directory's own id.

    key           version 0, with ZooKeeper   version 1, with KRaft
    version       0, or missing               1
    broker.id     once it is known            -
    node.id       -                           always
    cluster.id    once it is known            always
    directory.id  optional                    optional

All directories of a broker name the same cluster and the same node; their ids differ.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from cordwood.core.binary import INT32_MAX, INT32_MIN
from cordwood.core.errors import BytesError, DamagedFileError, LogDirectoryError
from cordwood.core.ports import Files, Random
from cordwood.core.properties import format_properties, parse_properties
from cordwood.core.uuids import Uuid, format_uuid, make_uuid, parse_uuid
from cordwood.storage.files.atomic_write import read_whole, write_atomically

T = TypeVar("T", str, int)

META_PROPERTIES: Final = "meta.properties"

# Kafka reserves the ids whose first half is 0 and whose second half, which is signed, is below 100:
# 0 means unknown, 1 means unassigned, 2 means lost.
_FIRST_FREE_ID: Final = 100

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """The content of one `meta.properties` file."""

    version: int = 1
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: Uuid | None = None

    def __post_init__(self) -> None:
        assert self.version in {0, 1}, f"version {self.version} is unknown"
        is_complete = self.cluster_id is not None and self.node_id is not None
        assert self.version == 0 or is_complete, "version 1 names cluster and node"


class ClusterIdentity(NamedTuple):
    """The cluster and the node that own the log directories; None if no directory names it."""

    cluster_id: str | None
    node_id: int | None


def read_meta_properties(files: Files, directory: str) -> MetaProperties | None:
    """Return the `meta.properties` of a log directory; None if the directory is new."""
    path = f"{directory}/{META_PROPERTIES}"
    try:
        data = read_whole(files, path)
    except FileNotFoundError:
        return None
    return parse_meta_properties(data, path=path)


def write_meta_properties(files: Files, directory: str, *, meta: MetaProperties) -> None:
    """Replace the `meta.properties` of a log directory atomically."""
    path = f"{directory}/{META_PROPERTIES}"
    write_atomically(files, path, data=format_meta_properties(meta))


def format_meta_properties(meta: MetaProperties) -> bytes:
    """Return the text of the file."""
    values = {
        "version": str(meta.version),
        "cluster.id": meta.cluster_id,
        _node_key(meta.version): None if meta.node_id is None else str(meta.node_id),
        "directory.id": None if meta.directory_id is None else format_uuid(meta.directory_id),
    }
    return format_properties({key: value for key, value in values.items() if value is not None})


def parse_meta_properties(data: bytes, *, path: str) -> MetaProperties:
    """Return the properties in the text; unknown keys are ignored."""
    try:
        values = parse_properties(data)
    except BytesError as error:
        raise _damage(
            path, str(error.what), expected=error.expected, found=error.found, line=error.position
        ) from error
    version = values.get("version", "0").strip()
    if version not in {"0", "1"}:
        raise _damage(path, "version is unknown", expected="0 or 1", found=version)
    node_key = _node_key(int(version))
    if version == "0":
        _ensure_of_version_0(values, path)
    needed = () if version == "0" else ("cluster.id", node_key)
    for key in needed:
        if key not in values:
            raise _damage(path, f"{key} is missing", expected=f"{key}=...", found=version)
    return MetaProperties(
        version=int(version),
        cluster_id=values.get("cluster.id"),
        node_id=_node_id(values.get(node_key), node_key, path=path),
        directory_id=_directory_id(values.get("directory.id"), path),
    )


def _ensure_of_version_0(values: Mapping[str, str], path: str) -> None:
    """Raise for an empty file, and for one of version 1 whose version is lost."""
    if "node.id" in values:
        raise _damage(path, "node.id is not in version 0", expected="broker.id", found="node.id")
    if values.keys().isdisjoint({"version", "broker.id", "cluster.id"}):
        found = ", ".join(values) or "no key"
        raise _damage(path, "owner is missing", expected="broker.id=...", found=found)


def make_directory_id(random: Random, used: Collection[Uuid] = ()) -> Uuid:
    """Return a random id for a log directory that is not among the `used` ones."""
    while True:
        directory_id = make_uuid(random)
        if directory_id not in used:
            return directory_id


def ensure_consistent(
    found: Mapping[str, MetaProperties],
    *,
    cluster_id: str | None = None,
    node_id: int | None = None,
) -> ClusterIdentity:
    """Return the owner of the directories, or raise `LogDirectoryError` for the first that differs.

    `found` maps the paths to their properties. `cluster_id` and `node_id` are those of the broker,
    if they are configured.
    """
    owners: dict[Uuid, str] = {}
    for directory, meta in found.items():
        cluster_id = _require_same(cluster_id, meta.cluster_id, kind="cluster", directory=directory)
        node_id = _require_same(node_id, meta.node_id, kind="node", directory=directory)
        if meta.directory_id is None:
            continue
        _reject_reserved(meta.directory_id, directory)
        other = owners.setdefault(meta.directory_id, directory)
        if other != directory:
            raise LogDirectoryError(
                f"has the same directory.id as {other} ({format_uuid(meta.directory_id)})",
                path=directory,
                remedy=f"one is a copy: remove directory.id from its {META_PROPERTIES}",
            )
    return ClusterIdentity(cluster_id, node_id)


def _node_key(version: int) -> str:
    return "node.id" if version else "broker.id"


def _node_id(text: str | None, key: str, *, path: str) -> int | None:
    if text is None:
        return None
    is_number = _WHOLE_NUMBER.fullmatch(text) is not None
    if not is_number or not INT32_MIN <= int(text) <= INT32_MAX:
        raise _damage(path, f"{key} is not a 32-bit number", expected="a number", found=text)
    return int(text)


def _directory_id(text: str | None, path: str) -> Uuid | None:
    if text is None:
        return None
    try:
        return parse_uuid(text)
    except BytesError as error:
        raise _damage(
            path, "directory.id is not an id", expected=error.expected, found=error.found
        ) from error


def _require_same(expected: T | None, found: T | None, *, kind: str, directory: str) -> T | None:
    if found is None or found == expected:
        return expected
    if expected is None:
        return found
    raise LogDirectoryError(
        f"belongs to {kind} {found}, not to {kind} {expected}",
        path=directory,
        remedy=f"configure the {kind} id of the data, or use another directory",
    )


def _reject_reserved(directory_id: Uuid, directory: str) -> None:
    second_half = int.from_bytes(directory_id[8:], "big", signed=True)
    if directory_id[:8] == bytes(8) and second_half < _FIRST_FREE_ID:
        raise LogDirectoryError(
            f"has a reserved directory.id ({format_uuid(directory_id)})",
            path=directory,
            remedy=f"remove directory.id from its {META_PROPERTIES}",
        )


def _damage(
    path: str, what: str, *, expected: int | str, found: int | str, line: int | None = None
) -> DamagedFileError:
    return DamagedFileError(
        what,
        path=path,
        position=line,
        expected=expected,
        found=repr(found),
        remedy="restore it, or write it again with the ids of this broker and its cluster",
    )
