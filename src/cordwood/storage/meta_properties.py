"""`meta.properties`: which broker of which cluster a log directory belongs to, and its own id.

    key           version 0, with ZooKeeper   version 1, with KRaft
    version       0, or not there             1
    broker.id     once it is known            -
    node.id       -                           always
    cluster.id    once it is known            always
    directory.id  may be there                may be there

All directories of a broker name the same cluster and the same node, and each has an id of its own.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from cordwood.core.binary import INT32_MAX, INT32_MIN
from cordwood.core.errors import BytesError, DamagedFileError, LogDirectoryError
from cordwood.core.ids import Uuid, format_uuid, make_uuid, parse_uuid
from cordwood.core.ports import Files, Random
from cordwood.core.properties import format_properties, parse_properties
from cordwood.storage.atomic import read_whole, write_atomically

T = TypeVar("T", str, int)

META_PROPERTIES: Final = "meta.properties"

# Of the ids whose first half is 0 Kafka keeps these for what is no directory: 0 stands for one that
# is not known yet, 1 for none assigned, 2 for one that is lost. The second half is signed.
_FIRST_FREE_ID: Final = 100

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """What one log directory says of itself."""

    version: int = 1
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: Uuid | None = None

    def __post_init__(self) -> None:
        assert self.version in {0, 1}, f"there is no version {self.version}"
        is_complete = self.cluster_id is not None and self.node_id is not None
        assert self.version == 0 or is_complete, "version 1 names cluster and node"


class Identity(NamedTuple):
    """Whose log directories these are; None where none of them says it."""

    cluster_id: str | None
    node_id: int | None


def read_meta_properties(files: Files, directory: str) -> MetaProperties | None:
    """Return what a log directory says of itself, None where it is new."""
    path = f"{directory}/{META_PROPERTIES}"
    try:
        data = read_whole(files, path)
    except FileNotFoundError:
        return None
    return parse_meta_properties(data, path=path)


def write_meta_properties(files: Files, directory: str, *, meta: MetaProperties) -> None:
    """Let a log directory say this of itself."""
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
    """Return what the text says; keys that are not Kafka's are passed over."""
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


def make_directory_id(random: Random, taken: Collection[Uuid] = ()) -> Uuid:
    """Return an id for a log directory that is not among those `taken`."""
    while True:
        made = make_uuid(random)
        if made not in taken:
            return made


def ensure_consistent(
    found: Mapping[str, MetaProperties],
    *,
    cluster_id: str | None = None,
    node_id: int | None = None,
) -> Identity:
    """Return whose these directories are, or raise `LogDirectoryError` for the first that differs.

    `found` has what each says of itself by its path; `cluster_id` and `node_id` are what its owner
    takes itself for, if it knows.
    """
    owners: dict[Uuid, str] = {}
    for directory, meta in found.items():
        cluster_id = _agreed(cluster_id, meta.cluster_id, kind="cluster", directory=directory)
        node_id = _agreed(node_id, meta.node_id, kind="node", directory=directory)
        if meta.directory_id is None:
            continue
        _refuse_reserved(meta.directory_id, directory)
        other = owners.setdefault(meta.directory_id, directory)
        if other != directory:
            raise LogDirectoryError(
                f"has the directory.id {format_uuid(meta.directory_id)}, and so has {other}",
                path=directory,
                remedy=f"one is a copy: remove directory.id from its {META_PROPERTIES}",
            )
    return Identity(cluster_id, node_id)


def _node_key(version: int) -> str:
    return "node.id" if version else "broker.id"


def _node_id(text: str | None, key: str, *, path: str) -> int | None:
    if text is None:
        return None
    is_number = _WHOLE_NUMBER.fullmatch(text) is not None
    if not is_number or not INT32_MIN <= int(text) <= INT32_MAX:
        raise _damage(path, f"{key} is no number of 32 bits", expected="a number", found=text)
    return int(text)


def _directory_id(text: str | None, path: str) -> Uuid | None:
    if text is None:
        return None
    try:
        return parse_uuid(text)
    except BytesError as error:
        raise _damage(
            path, "directory.id is no id", expected=error.expected, found=error.found
        ) from error


def _agreed(expected: T | None, said: T | None, *, kind: str, directory: str) -> T | None:
    if said is None or said == expected:
        return expected
    if expected is None:
        return said
    raise LogDirectoryError(
        f"belongs to {kind} {said}, not to {kind} {expected}",
        path=directory,
        remedy=f"set the {kind} id that the data has, or leave the directory to its owner",
    )


def _refuse_reserved(directory_id: Uuid, directory: str) -> None:
    second_half = int.from_bytes(directory_id[8:], "big", signed=True)
    if directory_id[:8] == bytes(8) and second_half < _FIRST_FREE_ID:
        raise LogDirectoryError(
            f"has the directory.id {format_uuid(directory_id)}, which stands for no directory",
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
        remedy="restore it, or write it anew with the ids of this broker and its cluster",
    )
