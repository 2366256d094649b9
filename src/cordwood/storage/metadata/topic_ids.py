"""Topic ids by the metadata of a log directory, or of another directory of the same broker.

    cordwood.metadata       the id in the node of the topic; each log directory has a copy
    __cluster_metadata-0    Kafka's records, which only one directory of a broker has; it may be the
                            log directory, or one next to it with the same cluster and node id

Metadata that are missing or damaged have no ids.
"""

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cordwood.core.errors import BytesError, DamagedFileError
from cordwood.core.metadata_paths import topic_path
from cordwood.core.ports import FileKind, Files
from cordwood.core.uuids import Uuid, parse_uuid
from cordwood.core.znodes import ZNodeTree
from cordwood.storage.checkpoints.meta_properties import MetaProperties, read_meta_properties
from cordwood.storage.checkpoints.metadata_file_format import METADATA_FILE
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.metadata.metadata_lookup import (
    METADATA_LOG,
    read_kafka_metadata,
    read_own_metadata,
)


class TopicIds(NamedTuple):
    """The metadata at a path; `id_of` returns the id of a topic, None if it is unknown."""

    path: str
    id_of: Callable[[str], Uuid | None]


def read_topic_ids(files: Files, log_directory: str) -> TopicIds | None:
    """Return the topic ids for a log directory; None without readable metadata."""
    try:
        tree = read_own_metadata(files, log_directory)
    except DamagedFileError:
        return None
    if tree is not None:
        return TopicIds(f"{log_directory}/{METADATA_FILE}", lambda topic: _own_id(tree, topic))
    for each in (log_directory, *_same_broker(files, log_directory)):
        try:
            metadata = read_kafka_metadata(files, each)
        except DamagedFileError:
            return None
        if metadata is not None:
            return TopicIds(f"{each}/{METADATA_LOG}", metadata.topics.get)
    return None


def _same_broker(files: Files, log_directory: str) -> Iterator[str]:
    """Yield the directories next to a log directory that have the same cluster and node id."""
    own, parent = _identity(files, log_directory), directory_of(log_directory)
    if own is None or own.cluster_id is None or own.node_id is None:
        return
    for name in files.list(parent, FileKind.DIRECTORY):
        path = f"{parent.rstrip('/')}/{name}"
        other = _identity(files, path) if path != log_directory else None
        if other is not None and (other.cluster_id, other.node_id) == (own.cluster_id, own.node_id):
            yield path


def _identity(files: Files, path: str) -> MetaProperties | None:
    try:
        return read_meta_properties(files, path)
    except (DamagedFileError, OSError):
        return None


def _own_id(tree: ZNodeTree, topic: str) -> Uuid | None:
    node = tree.get(topic_path(topic))
    if node is None:
        return None
    try:
        return parse_uuid(json.loads(node.data)["topic_id"])
    except (ValueError, TypeError, KeyError, BytesError):
        return None
