"""Makes a log directory of ours one that Apache Kafka 4 starts on, alone, and serves from.

    partition.metadata     the topic's id, the same in all its partitions; made where there is none
    meta.properties        cluster, node and directory id; made where there is none
    bootstrap.checkpoint   topics, partitions and settings, from which Kafka begins its metadata

Topics and brokers are configured as `cordwood.metadata` has it, where that is there, but for what
the owner says of topics. Logs, indexes and checkpoints are Kafka's already. All is checked before
anything is written, and the checkpoint comes last: what dies before it can be done again. The lock
is held meanwhile.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from cordwood.core.errors import LogDirectoryError, SettingError
from cordwood.core.ids import Uuid, format_uuid, make_uuid
from cordwood.core.metadata_nodes import ALL_BROKERS, BROKER, TOPIC
from cordwood.core.ports import Files, Random
from cordwood.storage.atomic import write_atomically
from cordwood.storage.checkpoints import LEADER_EPOCHS, read_epoch_checkpoint
from cordwood.storage.meta_properties import (
    MetaProperties,
    make_directory_id,
    read_meta_properties,
    write_meta_properties,
)
from cordwood.storage.names import ensure_topic_name
from cordwood.storage.partition_metadata import (
    ensure_same_topic,
    read_partition_metadata,
    write_partition_metadata,
)
from cordwood.storage.reader_place import partition_of, partition_paths
from cordwood.storage.topic_settings import TOPIC_SETTINGS
from cordwood.workbench.locked import locked
from cordwood.workbench.metadata_found import METADATA_LOG, FoundMetadata, find_metadata
from cordwood.workbench.metadata_written import TopicToTell, bootstrap_checkpoint

BOOTSTRAP = "bootstrap.checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose directory it is to be, and settings of its topics that are to be others than they were.

    Without a cluster id one is made.
    """

    node_id: int = 1
    cluster_id: str | None = None
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptReport:
    """What Kafka is told: the number of partitions by topic; `missing` are those without a log."""

    path: str
    cluster_id: str
    node_id: int
    topics: dict[str, int]
    missing: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the same as a JSON object."""
        return json.dumps(asdict(self))


def adopt(files: Files, path: str, *, owner: Owner, random: Random, now_ms: int) -> AdoptReport:
    """Write what Kafka needs into a log directory.

    LogDirectoryError if it is in use, or has metadata of Kafka's; InconsistentTopicIdError if the
    partitions of a topic have several ids, InvalidTopicError if one has a name that no topic may
    have; SettingError for a setting that no topic has.
    """
    found = _partitions(files, path)
    _refuse_unknown(owner, found)
    with locked(files, path):
        _refuse_metadata(files, path)
        kept = find_metadata(files, path)
        topics = [
            _topic(files, name, paths, _configs(name, kept, owner), random)
            for name, paths in found.items()
        ]
        meta = _meta(files, path, owner, random)
        assert meta.directory_id is not None, "it has been given one"
        assert meta.node_id is not None, "it has been given one"
        assert meta.cluster_id is not None, "it has been given one"
        for topic in topics:
            for each in found[topic.name].values():
                write_partition_metadata(files, each, topic_id=topic.topic_id)
        write_meta_properties(files, path, meta=meta)
        data = bootstrap_checkpoint(
            topics,
            _of_brokers(kept, meta.node_id),
            node_id=meta.node_id,
            directory_id=meta.directory_id,
            now_ms=now_ms,
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
    found: dict[str, dict[int, str]] = {}
    for each in partition_paths(files, path):
        partition = partition_of(each)
        assert partition is not None, "partitions have been parsed"
        ensure_topic_name(partition.topic)
        found.setdefault(partition.topic, {})[partition.partition] = each
    return found


def _refuse_unknown(owner: Owner, found: Mapping[str, object]) -> None:
    for topic, configs in owner.configs.items():
        if topic not in found:
            raise SettingError(
                f"there is no topic {topic}", key=topic, remedy=f"there are {', '.join(found)}"
            )
        for key, value in configs.items():
            TOPIC_SETTINGS.refuse_unknown([key])
            if not any(setting.name == key for setting in TOPIC_SETTINGS):
                raise SettingError(
                    f"setting {key} is a broker's", key=key, remedy="put it in server.properties"
                )
            TOPIC_SETTINGS[key].parse(value)


def _refuse_metadata(files: Files, path: str) -> None:
    for name in (METADATA_LOG, BOOTSTRAP):
        if name in files.list(path):
            raise LogDirectoryError(
                f"has Kafka's {name} in it already",
                path=path,
                remedy="start Kafka on it as it is, or move that away to begin a cluster anew",
            )


def _configs(topic: str, kept: FoundMetadata | None, owner: Owner) -> Mapping[str, str]:
    """Return how a topic is configured: as our own metadata have it, and as the owner says."""
    configured = {} if kept is None else kept.config_of(TOPIC, topic)
    return {**configured, **owner.configs.get(topic, {})}


def _of_brokers(kept: FoundMetadata | None, node_id: int) -> dict[str, Mapping[str, str]]:
    """Return what our own metadata have that was set while brokers ran: of all, and of this one."""
    names = (ALL_BROKERS, str(node_id))
    return {} if kept is None else {name: kept.config_of(BROKER, name) for name in names}


def _topic(
    files: Files, name: str, paths: Mapping[int, str], configs: Mapping[str, str], random: Random
) -> TopicToTell:
    """Return what is told of a topic; partitions without a log count, up to the last."""
    topic_id: Uuid | None = None
    for each in paths.values():
        found = read_partition_metadata(files, each)
        if found is not None and topic_id is not None:
            ensure_same_topic(found, topic_id, directory=each)
        topic_id = topic_id or found
    epochs = [0] * (max(paths) + 1)
    for number, each in paths.items():
        entries = read_epoch_checkpoint(files, f"{each}/{LEADER_EPOCHS}")
        epochs[number] = max([0, *(entry.epoch for entry in entries)])
    return TopicToTell(name, topic_id or make_uuid(random), epochs, configs)


def _meta(files: Files, path: str, owner: Owner, random: Random) -> MetaProperties:
    """Return what the directory says of itself, completed."""
    said = read_meta_properties(files, path) or MetaProperties(version=0)
    return MetaProperties(
        version=1,
        cluster_id=said.cluster_id or owner.cluster_id or format_uuid(make_uuid(random)),
        node_id=owner.node_id if said.node_id is None else said.node_id,
        directory_id=said.directory_id or make_directory_id(random),
    )
