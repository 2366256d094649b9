"""Metadata of a single broker at startup: opened, or adopted from log directories.

    cordwood.metadata       a directory has it: open the newest copy. Also adopt topics that Kafka
                            has created since: they are in its metadata, not in ours, and have logs
                            here. The partitions that Kafka has led since begin a new leader epoch,
                            and the producer ids that Kafka has allocated are not handed out again
    __cluster_metadata-0    Kafka's metadata log: adopt its topics, partitions and configurations
    directories alone       adopt topics by the names and ids of the directories; their
                            configuration is unknown, so they are set to keep all records

The adopted metadata are written at once, atomically, to each directory that is online; nothing else
is changed. This broker becomes the only replica of every partition. A partition whose log is
on another broker begins empty here; the report lists it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Final, TypeAlias

from cordwood.broker.config.config_resources import (
    ALL_BROKERS,
    ConfigResource,
    group_resource,
    topic_resource,
)
from cordwood.broker.config.stored_configs import known_texts
from cordwood.broker.metadata.file_metadata_store import FileMetadataStore
from cordwood.broker.metadata.metadata_copies import CopyPlace
from cordwood.broker.metadata.topic_znodes import (
    StoredTopic,
    decode_topic,
    encode_topic,
    folders,
)
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import LogDirectoryError
from cordwood.core.metadata_paths import (
    GROUP_CONFIGS,
    encode_texts,
    partition_state_path,
    topic_path,
)
from cordwood.core.partition_state import (
    PartitionState,
    decode_state,
    encode_state,
    state_nodes,
)
from cordwood.core.ports import MetadataStore, Random
from cordwood.core.producer_id_block import (
    BLOCK_PATH,
    BLOCK_SIZE,
    format_block,
    next_producer_id,
)
from cordwood.core.uuids import Uuid, format_uuid, make_uuid
from cordwood.core.znodes import CreateZNode, SetZNode, ZNode, ZNodeChange
from cordwood.storage.checkpoints.metadata_file_format import METADATA_FILE
from cordwood.storage.checkpoints.partition_metadata_file import (
    ensure_same_topic,
    read_partition_metadata,
)
from cordwood.storage.files.file_names import DirectorySuffix, ensure_topic_name
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.metadata.cluster_metadata_log import ClusterMetadata
from cordwood.storage.metadata.metadata_lookup import METADATA_LOG, read_kafka_metadata

#: The report lists this many names, and the number of the others.
_SHOWN: Final = 20
_UNKNOWN_SETTINGS: Final = (
    "their settings are unknown, so no record of them is deleted or compacted until "
    "cleanup.policy, retention.ms and retention.bytes of each topic are set"
)
_NO_TEXTS: Final[Mapping[str, str]] = MappingProxyType({})
#: Settings of a topic whose settings are unknown: nothing of it is deleted or compacted.
_KEEP_ALL: Final[Mapping[str, str]] = MappingProxyType(
    {"cleanup.policy": "delete", "retention.bytes": "-1", "retention.ms": "-1"}
)

OnDisk: TypeAlias = dict[str, dict[int, tuple[LogDirectory, str]]]
"""The log directory and the path of each partition, by topic and index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionReport:
    """The adopted topics, and the facts that an operator should look at."""

    source: str
    topics: int
    partitions: int
    has_settings: bool
    elsewhere: Sequence[str]
    shared: Sequence[str]
    ignored: Sequence[str]

    def __str__(self) -> str:
        """Return the report as one line."""
        parts = (
            ("without a log here, so they begin empty", self.elsewhere),
            ("with replicas on other brokers, which stay as they are", self.shared),
            ("ignored", self.ignored),
        )
        words = [f"{self.topics} topics with {self.partitions} partitions from {self.source}"]
        if not self.has_settings:
            words.append(_UNKNOWN_SETTINGS)
        return "; ".join(words + [f"{what}: {_shorten(names)}" for what, names in parts if names])


def open_metadata(
    directories: Sequence[LogDirectory],
    *,
    node_id: int,
    random: Random,
    initial_texts: Mapping[str, str] = _NO_TEXTS,
    on_event: Callable[[str], object],
) -> tuple[FileMetadataStore, AdoptionReport | None]:
    """Return the metadata, and a report if topics have been adopted.

    New metadata set `initial_texts` on all brokers, below the adopted ones. `on_event` receives
    messages for the operator.
    """
    online = [each for each in directories if each.is_online]
    places = [*map(_place, online)]
    adoption = _MetadataAdoption(node_id, random)
    store = FileMetadataStore.open(places, on_event=on_event)
    if store is not None:
        adoption.find_new_topics(online, store)
        store.multi(
            [
                *adoption.topic_nodes(),
                *adoption.leader_epochs(store),
                *adoption.producer_ids(store.get(BLOCK_PATH)),
            ]
        )
    else:
        _ensure_all_online(directories)
        adoption.find_all(online)
        changes = [
            *folders(),
            *adoption.topic_nodes(),
            *adoption.broker_nodes(initial_texts),
            *adoption.group_nodes(),
            *adoption.producer_ids(None),
        ]
        store = FileMetadataStore.create(places, changes=changes, on_event=on_event)
    return store, adoption.report() if adoption.topics else None


class _MetadataAdoption:
    """The topics and configurations found, before anything is written."""

    def __init__(self, node_id: int, random: Random) -> None:
        self.topics: dict[str, StoredTopic] = {}
        self._node_id = node_id
        self._random = random
        self._source = "directories"
        self._texts: dict[ConfigResource, Mapping[str, str]] = {}
        self._kafka: ClusterMetadata | None = None
        self._elsewhere: list[str] = []
        self._shared: list[str] = []
        self._ignored: list[str] = []

    def find_all(self, online: Sequence[LogDirectory]) -> None:
        """Find topics in Kafka's metadata if there are any, else by their directories."""
        on_disk = _partitions(online)
        metadata = self._read_metadata(online)
        if metadata is not None:
            for name in metadata.topics:
                self._adopt_from(metadata, name, here=on_disk.get(name, {}))
            self._adopt_brokers(metadata)
            self._adopt_groups(metadata)
            return
        for name, places in on_disk.items():
            topic_id = _topic_id(places.values()) or make_uuid(self._random)
            self._adopt(name, topic_id, count=max(places) + 1, here=places)
            self._texts[topic_resource(name)] = _KEEP_ALL

    def find_new_topics(self, online: Sequence[LogDirectory], store: MetadataStore) -> None:
        """Find topics that Kafka has created while it had the directories back."""
        metadata = self._read_metadata(online)
        if metadata is None:
            return
        for name, here in _partitions(online).items():
            is_known = store.get(topic_path(name)) is not None
            # Without the same id it is a log of an earlier topic, and stray.
            if not is_known and metadata.topics.get(name) == _topic_id(here.values()):
                self._adopt_from(metadata, name, here=here)

    def leader_epochs(self, store: MetadataStore) -> list[SetZNode]:
        """Return the changes that begin new epochs where Kafka has led partitions since."""
        changes: list[SetZNode] = []
        kafka = self._kafka or ClusterMetadata()
        for name, topic_id in kafka.topics.items():
            node = store.get(topic_path(name))
            if node is None or decode_topic(node.data, path=topic_path(name)).topic_id != topic_id:
                continue
            for number, epoch in kafka.leader_epochs.get(topic_id, {}).items():
                path = partition_state_path(name, number)
                found = store.get(path)
                state = None if found is None else decode_state(found.data, path=path)
                if state is not None and state.leader_epoch <= epoch:
                    later = state._replace(leader_epoch=epoch + 1)
                    changes.append(SetZNode(path, encode_state(later)))
        return changes

    def topic_nodes(self) -> list[CreateZNode]:
        """Return the nodes of the adopted topics."""
        changes = []
        for name, topic in self.topics.items():
            changes.append(CreateZNode(topic_path(name), encode_topic(topic)))
            changes += state_nodes(name, self._states_of(topic))
            texts = self._texts.get(topic_resource(name))
            if texts:
                changes.append(CreateZNode(topic_resource(name).path, encode_texts(texts)))
        return changes

    def broker_nodes(self, initial_texts: Mapping[str, str]) -> list[CreateZNode]:
        """Return the nodes of broker configurations."""
        own = ConfigResource(ResourceType.BROKER, str(self._node_id))
        texts = {
            own: self._texts.get(own, {}),
            ALL_BROKERS: {**initial_texts, **self._texts.get(ALL_BROKERS, {})},
        }
        return [
            CreateZNode(resource.path, encode_texts(each))
            for resource, each in texts.items()
            if each
        ]

    def group_nodes(self) -> list[CreateZNode]:
        """Return the nodes of the configurations of groups."""
        nodes = [
            CreateZNode(resource.path, encode_texts(texts))
            for resource, texts in self._texts.items()
            if resource.is_group
        ]
        return [CreateZNode(GROUP_CONFIGS), *nodes] if nodes else []

    def producer_ids(self, latest: ZNode | None) -> list[ZNodeChange]:
        """Return the change that skips the producer ids which Kafka has allocated."""
        end = 0 if self._kafka is None else self._kafka.next_producer_id
        if end <= next_producer_id(None if latest is None else latest.data):
            return []
        data = format_block(range(end - BLOCK_SIZE, end), self._node_id)
        return [CreateZNode(BLOCK_PATH, data) if latest is None else SetZNode(BLOCK_PATH, data)]

    def report(self) -> AdoptionReport:
        """Return the report."""
        return AdoptionReport(
            source=self._source,
            topics=len(self.topics),
            partitions=sum(len(topic.replicas) for topic in self.topics.values()),
            has_settings=self._kafka is not None,
            elsewhere=self._elsewhere,
            shared=self._shared,
            ignored=self._ignored,
        )

    def _read_metadata(self, online: Sequence[LogDirectory]) -> ClusterMetadata | None:
        for directory in online:
            metadata = read_kafka_metadata(directory.files, directory.path)
            if metadata is not None:
                self._source = f"{directory.path}/{METADATA_LOG}"
                self._kafka = metadata
                return metadata
        return None

    def _adopt_from(
        self, metadata: ClusterMetadata, name: str, *, here: Mapping[int, object]
    ) -> None:
        topic_id = metadata.topics[name]
        replicas = metadata.replicas.get(topic_id, {})
        self._adopt(name, topic_id, count=max(replicas, default=0) + 1, here=here)
        others = (index for index, nodes in replicas.items() if {*nodes} - {self._node_id})
        self._shared += [f"{name}-{index}" for index in others]
        self._adopt_config(topic_resource(name), metadata)

    def _states_of(self, topic: StoredTopic) -> list[PartitionState]:
        """Return the states of a topic that Kafka has led; none without its metadata.

        Epochs in the logs alone may be lower than those that Kafka has published.
        """
        if self._kafka is None:
            return []
        epochs = self._kafka.leader_epochs.get(topic.topic_id, {})
        return [
            PartitionState(self._node_id, epochs.get(number, -1) + 1, (self._node_id,))
            for number in range(len(topic.replicas))
        ]

    def _adopt_brokers(self, metadata: ClusterMetadata) -> None:
        own = str(self._node_id)
        for resource in (ConfigResource(ResourceType.BROKER, own), ALL_BROKERS):
            self._adopt_config(resource, metadata)

    def _adopt_groups(self, metadata: ClusterMetadata) -> None:
        for kind, name in metadata.configs:
            if kind == ResourceType.GROUP:
                self._adopt_config(group_resource(name), metadata)

    def _adopt(self, name: str, topic_id: Uuid, *, count: int, here: Mapping[int, object]) -> None:
        self.topics[name] = StoredTopic(topic_id, [(self._node_id,)] * count)
        self._elsewhere += [f"{name}-{index}" for index in range(count) if index not in here]

    def _adopt_config(self, resource: ConfigResource, metadata: ClusterMetadata) -> None:
        texts = metadata.config_of(resource.type, resource.name)
        known = known_texts(texts, resource, on_event=self._ignored.append)
        if known:
            self._texts[resource] = known


def _place(directory: LogDirectory) -> CopyPlace:
    """Return the place of a copy; a directory of Kafka's first version has no id."""
    meta = directory.meta
    directory_id = None if meta is None else meta.directory_id
    name = directory.path if directory_id is None else format_uuid(directory_id)
    return CopyPlace(directory.files, directory.path, name)


def _ensure_all_online(directories: Sequence[LogDirectory]) -> None:
    """Raise if an offline directory may have the only metadata."""
    for each in directories:
        if not each.is_online:
            raise LogDirectoryError(
                f"cannot be used, and may have the {METADATA_FILE} that no other directory has",
                path=each.path,
                remedy="repair it, or remove it from log.dirs to find the topics by directories",
            )


def _partitions(online: Iterable[LogDirectory]) -> OnDisk:
    found: OnDisk = {}
    for directory in online:
        for name, (partition, suffix) in directory.partitions().items():
            if suffix is DirectorySuffix.NONE:
                places = found.setdefault(ensure_topic_name(partition.topic), {})
                places[partition.partition] = (directory, f"{directory.path}/{name}")
    return found


def _topic_id(places: Iterable[tuple[LogDirectory, str]]) -> Uuid | None:
    """Return the topic id that the partitions agree on, None if none of them has one."""
    topic_id = None
    for directory, path in places:
        found = read_partition_metadata(directory.files, path)
        if topic_id is not None:
            ensure_same_topic(found, topic_id, directory=path)
        topic_id = topic_id or found
    return topic_id


def _shorten(names: Sequence[str]) -> str:
    shown = ", ".join(islice(names, _SHOWN))
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
