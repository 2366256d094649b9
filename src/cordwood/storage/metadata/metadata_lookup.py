"""Lookup of the topic metadata in a log directory, of Cordwood or of Kafka.

    cordwood.metadata       Cordwood's; if it exists, Kafka's is ignored
    __cluster_metadata-0    Kafka's: a snapshot and the log after it, as if all were committed

Each log directory of a broker has a copy of `cordwood.metadata`. Only the copy in the given
directory is read; after a failure of its disk it may be older than the others.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from cordwood.core.errors import BadRecordsError, BytesError, DamagedFileError
from cordwood.core.metadata_paths import (
    GROUP,
    GROUP_CONFIGS,
    config_path,
    decode_name,
    decode_texts,
    partition_state_path,
    topic_path,
)
from cordwood.core.partition_state import decode_state
from cordwood.core.ports import FileKind, Files
from cordwood.core.producer_id_block import BLOCK_PATH, next_producer_id
from cordwood.core.znodes import ZNodeTree
from cordwood.records.batch_stream import batches
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.checkpoints.metadata_file_format import METADATA_FILE, decode_metadata
from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.files.file_names import LOG, parse_segment_name
from cordwood.storage.metadata.cluster_metadata_log import ClusterMetadata

METADATA_LOG: Final = "__cluster_metadata-0"
#: How often Kafka's files are listed again when Kafka removes one before it is read.
MAX_ATTEMPTS: Final = 10

_CHECKPOINT = re.compile(r"([0-9]{20})-[0-9]{10}\.checkpoint")


class DirectoryMetadata(NamedTuple):
    """The topics, configs and leader epochs in the metadata of a log directory.

    `leader_epoch_of` returns 0 for a partition without a stored leader epoch. `next_producer_id` is
    the first producer id that is not allocated yet. `groups` are those that have configs.
    """

    path: str
    has_topic: Callable[[str], bool]
    config_of: Callable[[int, str], Mapping[str, str]]
    leader_epoch_of: Callable[[str, int], int]
    next_producer_id: int
    groups: tuple[str, ...] = ()


def find_metadata(files: Files, log_directory: str) -> DirectoryMetadata | None:
    """Return the metadata in a log directory; None without any.

    DamagedFileError if the metadata exists and cannot be read.
    """
    tree = read_own_metadata(files, log_directory)
    if tree is not None:
        return _own(tree, f"{log_directory}/{METADATA_FILE}")
    metadata = read_kafka_metadata(files, log_directory)
    if metadata is None:
        return None
    return DirectoryMetadata(
        f"{log_directory}/{METADATA_LOG}",
        metadata.topics.__contains__,
        metadata.config_of,
        metadata.leader_epoch_of,
        metadata.next_producer_id,
        tuple(name for kind, name in metadata.configs if kind == GROUP),
    )


def read_own_metadata(files: Files, log_directory: str) -> ZNodeTree | None:
    """Return the nodes in the `cordwood.metadata` of a log directory; None without the file."""
    path = f"{log_directory}/{METADATA_FILE}"
    try:
        return decode_metadata(read_whole(files, path), path=path).tree
    except FileNotFoundError:
        return None


def read_kafka_metadata(files: Files, log_directory: str) -> ClusterMetadata | None:
    """Return Kafka's metadata in a log directory; None without any."""
    path = f"{log_directory}/{METADATA_LOG}"
    for _ in range(MAX_ATTEMPTS):
        try:
            listed = files.list(path, FileKind.FILE)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            return _load(files, path, listed)
        except FileNotFoundError:  # a newer snapshot has replaced it
            continue
    raise DamagedFileError(
        "Kafka's metadata changes faster than it can be read",
        path=path,
        remedy="give the topic's settings with --config",
    )


def _own(tree: ZNodeTree, path: str) -> DirectoryMetadata:
    def config_of(kind: int, name: str) -> Mapping[str, str]:
        place = config_path(kind, name)
        node = tree.get(place)
        return {} if node is None else decode_texts(node.data, path=f"{path}, {place}")

    def leader_epoch_of(topic: str, number: int) -> int:
        place = partition_state_path(topic, number)
        node = tree.get(place)
        return 0 if node is None else decode_state(node.data, path=f"{path}, {place}").leader_epoch

    def has_topic(topic: str) -> bool:
        return tree.get(topic_path(topic)) is not None

    block = tree.get(BLOCK_PATH)
    return DirectoryMetadata(
        path,
        has_topic,
        config_of,
        leader_epoch_of,
        next_producer_id(None if block is None else block.data),
        tuple(map(decode_name, tree.children(GROUP_CONFIGS))),
    )


def _load(files: Files, path: str, listed: list[str]) -> ClusterMetadata:
    """Return the metadata in the newest snapshot and in the log after it."""
    snapshots = [found for found in map(_CHECKPOINT.fullmatch, listed) if found is not None]
    start = 0
    metadata = ClusterMetadata()
    if snapshots:
        newest = max(snapshots, key=lambda found: found[0])
        start = int(newest[1])
        _apply_file(files, f"{path}/{newest[0]}", metadata=metadata, start=0)
    for name in listed:
        parsed = parse_segment_name(name)
        if parsed is not None and parsed.extension == LOG and not parsed.suffix:
            _apply_file(files, f"{path}/{name}", metadata=metadata, start=start)
    return metadata


def _apply_file(files: Files, path: str, *, metadata: ClusterMetadata, start: int) -> None:
    """Apply the records of a file from an offset on."""
    try:
        for batch in batches(read_whole(files, path)):
            if isinstance(batch, RecordBatch) and not batch.is_control:
                metadata.apply_all(
                    record.value for record in batch.records() if record.offset >= start
                )
    except (BadRecordsError, BytesError) as error:
        raise DamagedFileError(
            f"Kafka's metadata cannot be read: {error}",
            path=path,
            remedy="give the topic's settings with --config, and move the directory away",
        ) from error
