"""The metadata in a log directory, of whoever has served it last.

    cordwood.metadata       ours: where they are, they count alone
    __cluster_metadata-0    Kafka's: a snapshot and the log behind it, of which all is believed

Ours lie in one of a broker's log directories, which need not be the one that is asked.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from cordwood.core.errors import BadRecordsError, BytesError, DamagedFileError
from cordwood.core.metadata_nodes import config_path, decode_texts, topic_path
from cordwood.core.nodes import NodeTree
from cordwood.core.ports import Files, Kind
from cordwood.records.batch import RecordBatch
from cordwood.records.stream import batches
from cordwood.storage.atomic import read_whole
from cordwood.storage.metadata_lines import METADATA_FILE, decode_metadata
from cordwood.storage.names import LOG, parse_segment_name
from cordwood.workbench.metadata_records import ClusterMetadata

METADATA_LOG: Final = "__cluster_metadata-0"
#: How often Kafka's files are listed anew, when it removes one before that is read.
MOST_LOOKS: Final = 10

_CHECKPOINT = re.compile(r"([0-9]{20})-[0-9]{10}\.checkpoint")


class FoundMetadata(NamedTuple):
    """What metadata say: which topics there are, and what is set of a kind's name itself."""

    path: str
    has_topic: Callable[[str], bool]
    config_of: Callable[[int, str], Mapping[str, str]]


def find_metadata(files: Files, log_directory: str) -> FoundMetadata | None:
    """Return the metadata in a log directory, None where there are none.

    DamagedFileError if they are there and cannot be read.
    """
    tree = read_own_metadata(files, log_directory)
    if tree is not None:
        return _own(tree, f"{log_directory}/{METADATA_FILE}")
    metadata = read_metadata(files, log_directory)
    if metadata is None:
        return None
    return FoundMetadata(
        f"{log_directory}/{METADATA_LOG}", metadata.topics.__contains__, metadata.config_of
    )


def read_own_metadata(files: Files, log_directory: str) -> NodeTree | None:
    """Return what our metadata in a log directory say, None where there are none."""
    path = f"{log_directory}/{METADATA_FILE}"
    try:
        return decode_metadata(read_whole(files, path), path=path).tree
    except FileNotFoundError:
        return None


def read_metadata(files: Files, log_directory: str) -> ClusterMetadata | None:
    """Return what Kafka's metadata in a log directory say, None where there are none."""
    path = f"{log_directory}/{METADATA_LOG}"
    for _ in range(MOST_LOOKS):
        try:
            listed = files.list(path, Kind.FILE)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            return _learnt(files, path, listed)
        except FileNotFoundError:  # a newer snapshot has taken its place
            continue
    raise DamagedFileError(
        "Kafka's metadata change faster than they can be read",
        path=path,
        remedy="say the topic's settings with --config",
    )


def _own(tree: NodeTree, path: str) -> FoundMetadata:
    def config_of(kind: int, name: str) -> Mapping[str, str]:
        place = config_path(kind, name)
        node = tree.get(place)
        return {} if node is None else decode_texts(node.data, path=f"{path}, {place}")

    return FoundMetadata(path, lambda topic: tree.get(topic_path(topic)) is not None, config_of)


def _learnt(files: Files, path: str, listed: list[str]) -> ClusterMetadata:
    """Return what the newest snapshot among some files says, and the log behind it."""
    snapshots = [found for found in map(_CHECKPOINT.fullmatch, listed) if found is not None]
    start = 0
    metadata = ClusterMetadata()
    if snapshots:
        newest = max(snapshots, key=lambda found: found[0])
        start = int(newest[1])
        _learn_file(files, f"{path}/{newest[0]}", metadata=metadata, start=0)
    for name in listed:
        parsed = parse_segment_name(name)
        if parsed is not None and parsed.extension == LOG and not parsed.suffix:
            _learn_file(files, f"{path}/{name}", metadata=metadata, start=start)
    return metadata


def _learn_file(files: Files, path: str, *, metadata: ClusterMetadata, start: int) -> None:
    """Take the records of a file from an offset on."""
    try:
        for batch in batches(read_whole(files, path)):
            if isinstance(batch, RecordBatch) and not batch.is_control:
                metadata.learn_all(
                    record.value for record in batch.records() if record.offset >= start
                )
    except (BadRecordsError, BytesError) as error:
        raise DamagedFileError(
            f"Kafka's metadata cannot be read: {error}",
            path=path,
            remedy="say the topic's settings with --config, and move the directory aside",
        ) from error
