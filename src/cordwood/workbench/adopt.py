"""Conversion of a log directory of Cordwood for a single Apache Kafka 4 node.

    partition.metadata     the topic id, the same in all partitions; created if missing
    meta.properties        cluster, node and directory id; created if missing
    bootstrap.checkpoint   topics, partitions, settings and the next producer id: Kafka's initial
                           metadata

Settings of topics and brokers are those in `cordwood.metadata`, if that file exists, unless the
options override them. Logs, indexes and checkpoints already have Kafka's formats. Everything is
checked before anything is written, and the checkpoint is written last, so an interrupted run can be
repeated. The lock of the log directory is held.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from cordwood.core.errors import DamagedFileError, LogDirectoryError, SettingError
from cordwood.core.metadata_paths import ALL_BROKERS, BROKER, GROUP, TOPIC
from cordwood.core.ports import FileKind, Files, Ports, Random
from cordwood.core.types import NO_PRODUCER_ID, Offset
from cordwood.core.uuids import Uuid, format_uuid, make_uuid
from cordwood.storage.checkpoints.checkpoint_files import LEADER_EPOCHS, read_epoch_checkpoint
from cordwood.storage.checkpoints.meta_properties import (
    META_PROPERTIES,
    MetaProperties,
    make_directory_id,
    read_meta_properties,
    write_meta_properties,
)
from cordwood.storage.checkpoints.metadata_file_format import METADATA_FILE
from cordwood.storage.checkpoints.partition_metadata_file import (
    ensure_same_topic,
    read_partition_metadata,
    write_partition_metadata,
)
from cordwood.storage.files.atomic_write import read_whole, write_atomically
from cordwood.storage.files.file_names import SNAPSHOT, ensure_topic_name, segment_name
from cordwood.storage.metadata.bootstrap_checkpoint import BootstrapTopic, bootstrap_checkpoint
from cordwood.storage.metadata.metadata_lookup import METADATA_LOG, DirectoryMetadata, find_metadata
from cordwood.storage.producers.producer_snapshot import decode_snapshot
from cordwood.storage.reader.path_resolution import (
    foreign_directories,
    partition_of,
    partition_paths,
)
from cordwood.storage.reader.segment_listing import snapshot_offsets
from cordwood.storage.topic_settings import TOPIC_SETTINGS
from cordwood.workbench.exclusive_log import lock_directory

BOOTSTRAP = "bootstrap.checkpoint"
_FIRST_NODE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptOptions:
    """The broker that will start on the directory, and overridden settings of its topics.

    An id that is not given is the one in `meta.properties`. Without that, the node has id 1, and
    the cluster id is random.
    """

    node_id: int | None = None
    cluster_id: str | None = None
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptReport:
    """The number of partitions by topic; `missing` are the partitions without a log."""

    path: str
    cluster_id: str
    node_id: int
    topics: dict[str, int]
    missing: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the fields as a JSON object."""
        return json.dumps(asdict(self))


def adopt(ports: Ports, path: str, *, options: AdoptOptions) -> AdoptReport:
    """Write the files that Kafka needs into a log directory.

    LogDirectoryError if a broker uses the directory, or it contains metadata of Kafka;
    InconsistentTopicIdError if the partitions of a topic have several ids. InvalidTopicError for
    an invalid topic name. SettingError for an unknown topic or setting.
    """
    files, random = ports.files, ports.random
    found = _partitions(files, path)
    _validate_configs(options, found)
    with lock_directory(files, path):
        _ensure_no_metadata(files, path)
        kept = find_metadata(files, path)
        topics = [
            BootstrapTopic(
                name,
                _topic_id(files, paths, random),
                _leader_epochs(files, name, paths, kept=kept),
                _configs(name, kept, options),
            )
            for name, paths in found.items()
        ]
        meta = _meta(files, path, options, random)
        assert meta.directory_id is not None, "_meta sets it"
        assert meta.node_id is not None, "_meta sets it"
        assert meta.cluster_id is not None, "_meta sets it"
        for topic in topics:
            for each in found[topic.name].values():
                write_partition_metadata(files, each, topic_id=topic.topic_id)
        write_meta_properties(files, path, meta=meta)
        data = bootstrap_checkpoint(
            topics,
            _other_configs(kept, meta.node_id),
            node_id=meta.node_id,
            directory_id=meta.directory_id,
            now_ms=ports.clock.now_ms(),
            next_producer_id=_next_producer_id(files, found, kept),
        )
        write_atomically(files, f"{path}/{BOOTSTRAP}", data=data)
    return AdoptReport(
        path=path,
        cluster_id=meta.cluster_id,
        node_id=meta.node_id,
        topics={topic.name: len(topic.epochs) for topic in topics},
        missing=tuple(
            f"{topic.name}-{number}"
            for topic in topics
            for number in range(len(topic.epochs))
            if number not in found[topic.name]
        ),
    )


def _partitions(files: Files, path: str) -> dict[str, dict[int, str]]:
    """Return the paths of the partitions by topic and number."""
    foreign = foreign_directories(files, path)
    if foreign:
        raise LogDirectoryError(
            f"contains directories that do not belong to a partition: {', '.join(foreign)}",
            path=path,
            remedy="move them away: Kafka does not start on such a log directory",
        )
    found: dict[str, dict[int, str]] = {}
    for each in partition_paths(files, path):
        partition = partition_of(each)
        assert partition is not None, "partition_paths returns only partitions"
        ensure_topic_name(partition.topic)
        found.setdefault(partition.topic, {})[partition.partition] = each
    return found


def _validate_configs(options: AdoptOptions, found: Mapping[str, object]) -> None:
    for topic, configs in options.configs.items():
        if topic not in found:
            raise SettingError(
                f"topic {topic}: has no partition in the log directory",
                key=topic,
                remedy=f"choose from {', '.join(found)}",
            )
        for key, value in configs.items():
            TOPIC_SETTINGS.refuse_unknown([key])
            if not any(setting.name == key for setting in TOPIC_SETTINGS):
                raise SettingError(
                    f"{key}: is a broker setting", key=key, remedy="put it in server.properties"
                )
            TOPIC_SETTINGS[key].parse(value)


def _ensure_no_metadata(files: Files, path: str) -> None:
    """Reject a directory with metadata of Kafka; they may be older than those of Cordwood."""
    names = files.list(path)
    present = [name for name in (METADATA_LOG, BOOTSTRAP) if name in names]
    if not present:
        return
    words = " and ".join(present)
    remedy = f"start Kafka on it as it is, or move {words} away to create a new cluster"
    if METADATA_FILE in names:
        remedy = (
            f"move {words} away and adopt again: a broker of Cordwood has served the directory, "
            "and with its old metadata Kafka would use former leader epochs, topics and settings"
        )
    raise LogDirectoryError(f"already contains {words} of Kafka", path=path, remedy=remedy)


def _configs(
    topic: str, kept: DirectoryMetadata | None, options: AdoptOptions
) -> Mapping[str, str]:
    """Return the settings of a topic in our metadata, overridden by the options."""
    configured = {} if kept is None else kept.config_of(TOPIC, topic)
    return {**configured, **options.configs.get(topic, {})}


def _other_configs(
    kept: DirectoryMetadata | None, node_id: int
) -> dict[tuple[int, str], Mapping[str, str]]:
    """Return the settings of all brokers, of this one and of groups, in our metadata."""
    if kept is None:
        return {}
    names = [
        (BROKER, ALL_BROKERS),
        (BROKER, str(node_id)),
        *((GROUP, each) for each in kept.groups),
    ]
    return {(kind, name): kept.config_of(kind, name) for kind, name in names}


def _topic_id(files: Files, paths: Mapping[int, str], random: Random) -> Uuid:
    """Return the topic id on which the partitions agree, or a new one."""
    topic_id: Uuid | None = None
    for each in paths.values():
        found = read_partition_metadata(files, each)
        if found is not None and topic_id is not None:
            ensure_same_topic(found, topic_id, directory=each)
        topic_id = topic_id or found
    return topic_id or make_uuid(random)


def _leader_epochs(
    files: Files, topic: str, paths: Mapping[int, str], *, kept: DirectoryMetadata | None
) -> list[int]:
    """Return the latest leader epoch of each partition, up to the last one that has a log.

    The metadata may have a later epoch than the log: one in which no record was written.
    """
    epochs = [0] * (max(paths) + 1)
    for number, each in paths.items():
        entries = read_epoch_checkpoint(files, f"{each}/{LEADER_EPOCHS}")
        published = 0 if kept is None else kept.leader_epoch_of(topic, number)
        epochs[number] = max([published, *(entry.epoch for entry in entries)])
    return epochs


def _next_producer_id(
    files: Files, found: Mapping[str, Mapping[int, str]], kept: DirectoryMetadata | None
) -> int:
    """Return an id above all producer ids that the metadata and the logs have.

    The metadata may be in another log directory.
    """
    allocated = 0 if kept is None else kept.next_producer_id
    paths = (path for of_topic in found.values() for path in of_topic.values())
    return max(allocated, *(_largest_producer_id(files, path) + 1 for path in paths))


def _largest_producer_id(files: Files, path: str) -> int:
    """Return the largest id in the newest producer snapshot of a partition; -1 without one."""
    offsets = snapshot_offsets(files.list(path, FileKind.FILE))
    if not offsets:
        return NO_PRODUCER_ID
    newest = f"{path}/{segment_name(Offset(offsets[-1]), SNAPSHOT)}"
    try:
        states = decode_snapshot(read_whole(files, newest), path=newest)
    except DamagedFileError:  # the broker removes it and reads the log instead
        return NO_PRODUCER_ID
    return max((each.producer_id for each in states), default=NO_PRODUCER_ID)


def _meta(files: Files, path: str, options: AdoptOptions, random: Random) -> MetaProperties:
    """Return the existing `meta.properties` with missing ids filled in.

    SettingError if a given id is not the existing one: a broker would reject the directory.
    """
    found = read_meta_properties(files, path) or MetaProperties(version=0)
    _ensure_same("node-id", path, given=options.node_id, found=found.node_id)
    _ensure_same("cluster-id", path, given=options.cluster_id, found=found.cluster_id)
    node_id = options.node_id if found.node_id is None else found.node_id
    return MetaProperties(
        version=1,
        cluster_id=found.cluster_id or options.cluster_id or format_uuid(make_uuid(random)),
        node_id=_FIRST_NODE if node_id is None else node_id,
        directory_id=found.directory_id or make_directory_id(random),
    )


def _ensure_same(name: str, path: str, *, given: int | str | None, found: int | str | None) -> None:
    if given is not None and found is not None and given != found:
        raise SettingError(
            f"{path}: {META_PROPERTIES} has another {name} (given {given}, found {found})",
            key=name,
            remedy=f"leave --{name} out, or remove {META_PROPERTIES}",
        )
