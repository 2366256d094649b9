"""All log directories of a process, taken together before any log in them is opened.

    taken by another process       nothing is opened: two owners would destroy each other's logs
    of another cluster or node     likewise, and what has been taken is given back as it was
    damaged name tag, disk error   this directory is offline, the others are used
    new                            gets `meta.properties`: the cluster, the node, an id of its own

A directory of version 1 without an id of its own gets one too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cordwood.core.errors import DamagedFileError, LogDirectoryError
from cordwood.core.ids import format_uuid, make_uuid
from cordwood.core.ports import Files, Random
from cordwood.storage.clean_shutdown import UNKNOWN_BROKER_EPOCH
from cordwood.storage.log_directory import LogDirectory
from cordwood.storage.meta_properties import (
    Identity,
    MetaProperties,
    ensure_consistent,
    make_directory_id,
    write_meta_properties,
)

#: The node that a directory belongs to when nobody says which.
FIRST_NODE_ID: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Who opens the directories, as far as it knows; the directories may know the rest.

    `on_event` hears, in words, of what an operator should know.
    """

    cluster_id: str | None = None
    node_id: int | None = None
    random: Random
    on_event: Callable[[str], object]


def open_directories(
    files: Files, paths: Sequence[str], *, owner: Owner
) -> tuple[LogDirectory, ...]:
    """Take the directories, made if need be; LogDirectoryError if that must not or cannot be."""
    opened: list[LogDirectory] = []
    try:
        for path in paths:
            _ensure_new(path, opened)
            opened.append(_open(files, path, owner))
        _name(opened, owner)
        _ensure_some(opened)
    except BaseException:
        give_back(opened)
        raise
    return tuple(opened)


def give_back(directories: Sequence[LogDirectory]) -> None:
    """Let others have directories of which no log has been opened, as they were."""
    for directory in directories:
        directory.close(broker_epoch=UNKNOWN_BROKER_EPOCH)


def _ensure_new(path: str, opened: Sequence[LogDirectory]) -> None:
    if any(directory.path == path for directory in opened):
        raise LogDirectoryError(
            "is among the log directories twice", path=path, remedy="name it once in log.dirs"
        )


def _ensure_some(opened: Sequence[LogDirectory]) -> None:
    if not any(directory.is_online for directory in opened):
        reasons = "; ".join(str(directory.failure) for directory in opened)
        raise LogDirectoryError(
            f"no log directory can be used: {reasons}",
            path=", ".join(directory.path for directory in opened),
            remedy="repair one of them, or name another one in log.dirs",
        )


def _open(files: Files, path: str, owner: Owner) -> LogDirectory:
    try:
        directory = LogDirectory.open(files, path)
    except (OSError, DamagedFileError) as error:
        owner.on_event(f"{path} cannot be opened: {error}")
        return LogDirectory.failed(files, path, error=error)
    for damage in directory.damaged:
        owner.on_event(f"taken for empty: {damage}")
    return directory


def _name(opened: Sequence[LogDirectory], owner: Owner) -> None:
    """Let every directory say whose it is, and which."""
    found = {each.path: each.meta for each in opened if each.meta is not None}
    said = ensure_consistent(found, cluster_id=owner.cluster_id, node_id=owner.node_id)
    identity = Identity(
        said.cluster_id or format_uuid(make_uuid(owner.random)),
        FIRST_NODE_ID if said.node_id is None else said.node_id,
    )
    version = min((meta.version for meta in found.values()), default=1)
    taken = {meta.directory_id for meta in found.values() if meta.directory_id is not None}
    for directory in opened:
        if not directory.is_online:
            continue
        meta = directory.meta or MetaProperties(
            version=version, cluster_id=identity.cluster_id, node_id=identity.node_id
        )
        if meta.version == 1 and meta.directory_id is None:
            made = make_directory_id(owner.random, taken)
            taken.add(made)
            meta = replace(meta, directory_id=made)
        _write(directory, meta, owner)


def _write(directory: LogDirectory, meta: MetaProperties, owner: Owner) -> None:
    """Write the name tag if it says something new."""
    if meta == directory.meta:
        return
    try:
        write_meta_properties(directory.files, directory.path, meta=meta)
    except OSError as error:
        directory.fail(error)
        owner.on_event(f"{directory.path} cannot be used: {error}")
    directory.meta = meta
