"""The metadata of a broker that stands alone: found in log directories, or made of what is there.

    cordwood.metadata       in one of the directories: it is opened. What Kafka has made since is
                            taken too: topics of its metadata that are not known and have logs here
    __cluster_metadata-0    Kafka's own: topics, partitions and configurations are taken from it
    directories alone       topics are taken from their names and ids; nobody knows how they were
                            configured, so they have the broker's defaults

What is taken is written at once, whole, into the first directory that can be used. Nothing else is
changed. This broker becomes the only replica of every partition: those whose log is elsewhere begin
empty here, and are told of.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from cordwood.broker.config_resources import ALL_BROKERS, Resource, topic_resource
from cordwood.broker.kept_configs import known_texts
from cordwood.broker.metadata_file import MetadataFile
from cordwood.broker.producer_ids import BLOCK_PATH, BLOCK_SIZE, format_block
from cordwood.broker.topic_nodes import KeptTopic, encode_topic, folders
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import LogDirectoryError
from cordwood.core.ids import Uuid, make_uuid
from cordwood.core.metadata_nodes import encode_texts, topic_path
from cordwood.core.nodes import CreateNode
from cordwood.core.ports import MetadataStore, Random
from cordwood.storage.atomic import exists
from cordwood.storage.log_directory import LogDirectory
from cordwood.storage.metadata_lines import METADATA_FILE
from cordwood.storage.names import DirectorySuffix, ensure_topic_name
from cordwood.storage.partition_metadata import ensure_same_topic, read_partition_metadata
from cordwood.workbench.metadata_found import METADATA_LOG, read_metadata
from cordwood.workbench.metadata_records import ClusterMetadata

#: So many names are shown; how many others there are is told.
_SHOWN: Final = 20

OnDisk: TypeAlias = dict[str, dict[int, tuple[LogDirectory, str]]]
"""By topic and partition, where each is: the log directory and the path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """What was taken, and what of it is not as it was."""

    source: str
    topics: int
    partitions: int
    elsewhere: Sequence[str]
    shared: Sequence[str]
    passed_over: Sequence[str]

    def __str__(self) -> str:
        """Return it in words, for the operator."""
        parts = (
            ("without a log here, so they begin empty", self.elsewhere),
            ("with replicas elsewhere, which are left alone", self.shared),
            ("passed over", self.passed_over),
        )
        words = [f"{self.topics} topics with {self.partitions} partitions from {self.source}"]
        return "; ".join(words + [f"{what}: {_some(which)}" for what, which in parts if which])


def open_metadata(
    directories: Sequence[LogDirectory], *, node_id: int, random: Random
) -> tuple[MetadataFile, Adopted | None]:
    """Return the metadata, and what was taken into them of what others have left."""
    online = [each for each in directories if each.is_online]
    having = [each for each in online if exists(each.files, _path(each))]
    _refuse_doubt(directories, having)
    adoption = _Adoption(node_id, random)
    if having:
        store = MetadataFile.open(having[0].files, _path(having[0]))
        adoption.look_for_news(online, store)
        store.multi(adoption.of_topics())
    else:
        adoption.look_into(online)
        changes = [*folders(), *adoption.of_topics(), *adoption.of_brokers()]
        store = MetadataFile.create(online[0].files, _path(online[0]), changes=changes)
    return store, adoption.report() if adoption.topics else None


class _Adoption:
    """What is found before anything is written."""

    def __init__(self, node_id: int, random: Random) -> None:
        self.topics: dict[str, KeptTopic] = {}
        self._node_id = node_id
        self._random = random
        self._source = "directories, configured as the broker's defaults say"
        self._texts: dict[Resource, Mapping[str, str]] = {}
        self._next_producer_id = 0
        self._elsewhere: list[str] = []
        self._shared: list[str] = []
        self._passed_over: list[str] = []

    def look_into(self, online: Sequence[LogDirectory]) -> None:
        """Find topics: where Kafka's metadata are, they say which there are."""
        on_disk = _partitions(online)
        metadata = self._read_metadata(online)
        if metadata is not None:
            for name in metadata.topics:
                self._take_from(metadata, name, here=on_disk.get(name, {}))
            self._take_of_brokers(metadata)
            return
        for name, places in on_disk.items():
            topic_id = _topic_id(places.values()) or make_uuid(self._random)
            self._take(name, topic_id, count=max(places) + 1, here=places)

    def look_for_news(self, online: Sequence[LogDirectory], store: MetadataStore) -> None:
        """Find topics that Kafka has made since it had the directories again."""
        metadata = self._read_metadata(online)
        if metadata is None:
            return
        for name, here in _partitions(online).items():
            is_known = store.get(topic_path(name)) is not None
            if not is_known and metadata.topics.get(name) == _topic_id(here.values()):
                self._take_from(metadata, name, here=here)

    def of_topics(self) -> list[CreateNode]:
        """Return the nodes of the topics that were found."""
        changes = []
        for name, topic in self.topics.items():
            changes.append(CreateNode(topic_path(name), encode_topic(topic)))
            texts = self._texts.get(topic_resource(name))
            if texts:
                changes.append(CreateNode(topic_resource(name).path, encode_texts(texts)))
        return changes

    def of_brokers(self) -> list[CreateNode]:
        """Return the nodes that are not of a topic."""
        own = Resource(ResourceType.BROKER, str(self._node_id))
        changes = [
            CreateNode(resource.path, encode_texts(self._texts[resource]))
            for resource in (own, ALL_BROKERS)
            if resource in self._texts
        ]
        if self._next_producer_id:
            block = range(self._next_producer_id - BLOCK_SIZE, self._next_producer_id)
            changes.append(CreateNode(BLOCK_PATH, format_block(block, self._node_id)))
        return changes

    def report(self) -> Adopted:
        """Return what was found."""
        return Adopted(
            source=self._source,
            topics=len(self.topics),
            partitions=sum(len(topic.replicas) for topic in self.topics.values()),
            elsewhere=self._elsewhere,
            shared=self._shared,
            passed_over=self._passed_over,
        )

    def _read_metadata(self, online: Sequence[LogDirectory]) -> ClusterMetadata | None:
        for directory in online:
            metadata = read_metadata(directory.files, directory.path)
            if metadata is not None:
                self._source = f"{directory.path}/{METADATA_LOG}"
                return metadata
        return None

    def _take_from(
        self, metadata: ClusterMetadata, name: str, *, here: Mapping[int, object]
    ) -> None:
        topic_id = metadata.topics[name]
        replicas = metadata.replicas.get(topic_id, {})
        self._take(name, topic_id, count=max(replicas, default=0) + 1, here=here)
        others = (index for index, nodes in replicas.items() if {*nodes} - {self._node_id})
        self._shared += [f"{name}-{index}" for index in others]
        self._take_texts_of(topic_resource(name), metadata)

    def _take_of_brokers(self, metadata: ClusterMetadata) -> None:
        self._next_producer_id = metadata.next_producer_id
        own = str(self._node_id)
        for resource in (Resource(ResourceType.BROKER, own), ALL_BROKERS):
            self._take_texts_of(resource, metadata)

    def _take(self, name: str, topic_id: Uuid, *, count: int, here: Mapping[int, object]) -> None:
        self.topics[name] = KeptTopic(topic_id, [(self._node_id,)] * count)
        self._elsewhere += [f"{name}-{index}" for index in range(count) if index not in here]

    def _take_texts_of(self, resource: Resource, metadata: ClusterMetadata) -> None:
        texts = metadata.config_of(resource.type, resource.name)
        known = known_texts(texts, resource, on_event=self._passed_over.append)
        if known:
            self._texts[resource] = known


def _path(directory: LogDirectory) -> str:
    return f"{directory.path}/{METADATA_FILE}"


def _refuse_doubt(directories: Sequence[LogDirectory], having: Sequence[LogDirectory]) -> None:
    """Refuse to choose between two, or to make what may be where nobody can look."""
    if len(having) > 1:
        raise LogDirectoryError(
            f"has a {METADATA_FILE}, and so has {having[0].path}",
            path=having[1].path,
            remedy="move the one away that does not tell of the topics that are there",
        )
    offline = [each for each in directories if not each.is_online]
    if offline and not having:
        raise LogDirectoryError(
            f"cannot be used, and may have the {METADATA_FILE} that no other directory has",
            path=offline[0].path,
            remedy="repair it, or take it out of log.dirs: topics are found by directories then",
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
    """Return the id that all of a topic's partitions say, None if none of them says one."""
    topic_id = None
    for directory, path in places:
        found = read_partition_metadata(directory.files, path)
        if topic_id is not None:
            ensure_same_topic(found, topic_id, directory=path)
        topic_id = topic_id or found
    return topic_id


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(islice(names, _SHOWN))
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
