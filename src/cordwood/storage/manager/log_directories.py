"""Opening of all log directories (Kafka: `MetaPropertiesEnsemble`), before any log is opened.

    locked by another process        the start fails: two owners would destroy each other's logs
    of another cluster or node       the start fails, and the opened directories are closed again
    damaged `meta.properties`,       this directory is offline, the others are used
    or a disk error
    new                              gets `meta.properties` with cluster id, node id, directory id

A directory of version 1 without a directory id gets one too.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from posixpath import normpath
from typing import Final

from cordwood.core.errors import DamagedFileError, LogDirectoryError
from cordwood.core.ports import Files, Random
from cordwood.core.uuids import format_uuid, make_uuid
from cordwood.storage.checkpoints.clean_shutdown_file import UNKNOWN_BROKER_EPOCH
from cordwood.storage.checkpoints.meta_properties import (
    ClusterIdentity,
    MetaProperties,
    ensure_consistent,
    make_directory_id,
    write_meta_properties,
)
from cordwood.storage.manager.log_directory import LogDirectory, partitions_in

#: The node id of a new directory when the configuration has none.
FIRST_NODE_ID: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryOwner:
    """The process that opens the directories; ids that are None are taken from the directories.

    `on_event` receives messages for the operator.
    """

    cluster_id: str | None = None
    node_id: int | None = None
    random: Random
    on_event: Callable[[str], object]


def open_directories(
    files: Files, paths: Sequence[str], *, owner: DirectoryOwner
) -> tuple[LogDirectory, ...]:
    """Open the directories, which are created if necessary.

    LogDirectoryError if one is locked or listed twice, if the ids contradict each other, or if no
    directory can be used. LogDirectoryError also for a directory in one of them that is not a
    partition; then nothing was written.
    """
    for path in paths:
        # A disk that fails here fails again below, where its directory goes offline alone.
        with suppress(OSError):
            partitions_in(files, path)
    opened: list[LogDirectory] = []
    try:
        for path in paths:
            _ensure_new(path, opened)
            opened.append(_open(files, path, owner))
        _identify(opened, owner)
        _ensure_some(opened)
    except BaseException:
        give_back(opened)
        raise
    return tuple(opened)


def give_back(directories: Sequence[LogDirectory]) -> None:
    """Close directories of which no log has been opened; their clean-shutdown marks are kept."""
    for directory in directories:
        directory.close(broker_epoch=UNKNOWN_BROKER_EPOCH)


def _ensure_new(path: str, opened: Sequence[LogDirectory]) -> None:
    if any(normpath(directory.path) == normpath(path) for directory in opened):
        raise LogDirectoryError(
            "is listed twice among the log directories",
            path=path,
            remedy="list it once in log.dirs",
        )


def _ensure_some(opened: Sequence[LogDirectory]) -> None:
    if not any(directory.is_online for directory in opened):
        reasons = "; ".join(str(directory.failure) for directory in opened)
        raise LogDirectoryError(
            f"no log directory can be used: {reasons}",
            path=", ".join(directory.path for directory in opened),
            remedy="repair one of them, or add another one to log.dirs",
        )


def _open(files: Files, path: str, owner: DirectoryOwner) -> LogDirectory:
    try:
        directory = LogDirectory.open(files, path)
    except (OSError, DamagedFileError) as error:
        owner.on_event(f"{path} cannot be opened: {error}")
        return LogDirectory.failed(files, path, error=error)
    for damage in directory.damaged:
        owner.on_event(f"a damaged checkpoint counts as empty: {damage}")
    return directory


def _identify(opened: Sequence[LogDirectory], owner: DirectoryOwner) -> None:
    """Give every online directory a complete `meta.properties` file."""
    found = {each.path: each.meta for each in opened if each.meta is not None}
    known = ensure_consistent(found, cluster_id=owner.cluster_id, node_id=owner.node_id)
    identity = ClusterIdentity(
        known.cluster_id or format_uuid(make_uuid(owner.random)),
        FIRST_NODE_ID if known.node_id is None else known.node_id,
    )
    version = min((meta.version for meta in found.values()), default=1)
    taken = {meta.directory_id for meta in found.values() if meta.directory_id is not None}
    for directory in opened:
        if not directory.is_online:
            continue
        meta = directory.meta or MetaProperties(
            version=version, cluster_id=identity.cluster_id, node_id=identity.node_id
        )
        meta = replace(
            meta,
            cluster_id=meta.cluster_id or identity.cluster_id,
            node_id=identity.node_id if meta.node_id is None else meta.node_id,
        )
        if meta.version == 1 and meta.directory_id is None:
            made = make_directory_id(owner.random, taken)
            taken.add(made)
            meta = replace(meta, directory_id=made)
        _write(directory, meta, owner)


def _write(directory: LogDirectory, meta: MetaProperties, owner: DirectoryOwner) -> None:
    """Write `meta.properties` if it has changed."""
    if meta == directory.meta:
        return
    try:
        write_meta_properties(directory.files, directory.path, meta=meta)
    except OSError as error:
        directory.fail(error)
        owner.on_event(f"{directory.path} cannot be used: {error}")
    directory.meta = meta
