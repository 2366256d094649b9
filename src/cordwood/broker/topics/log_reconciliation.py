"""Reconciliation of metadata and log directories at startup; a crash may have separated them.

    topic without a log       create an empty log, with an event for the operator; but if its log
                              directory is missing too, the partition is offline
    log without a topic       rename it to `-stray`, with an event; also a log of an earlier topic
                              of the same name, which has another id
    future log without log    promote it: a crash interrupted the promotion
    producer ids in logs      never hand them out again, wherever they come from

The broker leads every partition that it has on disk; `leader_election` gives the leader epoch.
"""

from collections.abc import Iterator

from cordwood.broker.metadata.metadata_image import ClusterImage, TopicImage
from cordwood.broker.metadata.producer_id_manager import (
    BLOCK_PATH,
    BLOCK_SIZE,
    block_after,
    format_block,
)
from cordwood.broker.metadata.topic_znodes import StoredTopic, decode_topic
from cordwood.broker.topics.leader_election import FoundLog, elect
from cordwood.broker.topics.partition_states import directory_id_of, read_state, replacement
from cordwood.broker.topics.topic_hosting import TopicHosting
from cordwood.core.errors import KafkaStorageError, LogDirectoryError
from cordwood.core.metadata_paths import TOPICS, topic_path
from cordwood.core.partition_state import PartitionState
from cordwood.core.ports import MetadataStore
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid, format_uuid
from cordwood.core.znodes import CreateZNode, SetZNode, ZNodeChange
from cordwood.storage.manager import log_creation, log_renames
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.manager.log_manager import LogManager


def reconcile(store: MetadataStore, hosting: TopicHosting, *, image: ClusterImage) -> ClusterImage:
    """Serve the stored topics from the loaded logs; return the image with them.

    The new leader epochs are stored before a partition is served.
    """
    stored = dict(_stored_topics(store))
    _promote_future_logs(stored, hosting)
    _set_stray_logs_aside(stored, hosting)
    _reserve_producer_ids(store, hosting.manager, node_id=image.controller_id)
    elections = [
        _TopicElection(name, topic, hosting, image.controller_id) for name, topic in stored.items()
    ]
    changes: list[ZNodeChange] = []
    for election in elections:
        changes += election.run(store)
    store.multi(changes)
    return image.with_topic(*(election.serve() for election in elections))


def _stored_topics(store: MetadataStore) -> Iterator[tuple[str, StoredTopic]]:
    for name in store.children(TOPICS):
        path = topic_path(name)
        node = store.get(path)
        assert node is not None, "a listed child exists"
        yield name, decode_topic(node.data, path=path)


def _promote_future_logs(stored: dict[str, StoredTopic], hosting: TopicHosting) -> None:
    """Promote future logs without a log; otherwise an empty log would be created."""
    manager = hosting.manager
    for partition in tuple(manager.futures):
        if partition.topic not in stored:
            continue
        try:
            if manager.get(partition) is None:
                log_renames.promote(manager, partition)
                hosting.on_event(f"{partition}: its future log has been promoted")
        except KafkaStorageError as error:
            hosting.on_event(f"{partition}: its future log cannot be promoted: {error}")


def _set_stray_logs_aside(stored: dict[str, StoredTopic], hosting: TopicHosting) -> None:
    """Rename the logs that do not belong to a topic."""
    manager = hosting.manager
    for partition in tuple(manager.logs):
        try:
            reason = _find_stray_reason(stored.get(partition.topic), partition, manager)
            if reason:
                log_renames.set_aside(manager, partition)
                hosting.on_event(f"{partition} is set aside as -stray: {reason}")
        except KafkaStorageError as error:
            hosting.on_event(f"{partition} cannot be checked: {error}")


def _find_stray_reason(
    topic: StoredTopic | None, partition: TopicPartition, manager: LogManager
) -> str:
    """Return the reason why a log is stray, empty if it belongs to its topic."""
    if topic is None:
        return "there is no such topic"
    if partition.partition >= len(topic.replicas):
        return f"its topic has {len(topic.replicas)} partitions"
    topic_id = manager.topic_id(partition)
    if topic_id is not None and topic_id != topic.topic_id:
        return "its topic was deleted, another one has the name now"
    # An old log without a file for the id gets one.
    if topic_id is None:
        log_creation.create(manager, partition, topic_id=topic.topic_id)
    return ""


def _reserve_producer_ids(store: MetadataStore, manager: LogManager, *, node_id: int) -> None:
    """Reserve the block that holds the largest producer id of all logs, unless it is taken."""
    largest = max(
        (max(log.producers.producers, default=-1) for log in manager.all_logs()), default=-1
    )
    node = store.get(BLOCK_PATH)
    if largest < block_after(None if node is None else node.data).start:
        return
    start = largest - largest % BLOCK_SIZE
    data = format_block(range(start, start + BLOCK_SIZE), node_id)
    store.multi([CreateZNode(BLOCK_PATH, data) if node is None else SetZNode(BLOCK_PATH, data)])


class _TopicElection:
    """The leaderships of one topic's partitions: found, to be stored, then served."""

    def __init__(self, name: str, stored: StoredTopic, hosting: TopicHosting, node_id: int) -> None:
        self._topic = TopicImage.new(name, stored.topic_id, replicas=stored.replicas)
        self._hosting = hosting
        self._node_id = node_id
        self._failed: dict[TopicPartition, KafkaStorageError] = {}
        self._created: list[str] = []

    def run(self, store: MetadataStore) -> list[ZNodeChange]:
        """Find or create each log; return the changes to the stored states."""
        topic, partitions = self._topic, [*self._topic.partitions]
        changed: dict[int, PartitionState] = {}
        for index, partition in enumerate(topic.names()):
            stored = read_state(store, partition)
            try:
                state = self._elect(partition, stored)
            except KafkaStorageError as error:
                self._failed[partition] = error
                state = stored or PartitionState(self._node_id, 0, (self._node_id,))
            if state != stored:
                changed[index] = state
            partitions[index] = partitions[index]._replace(leader_epoch=state.leader_epoch)
        self._topic = TopicImage(topic.name, topic.topic_id, tuple(partitions))
        return replacement(store, topic.name, states=changed)

    def serve(self) -> TopicImage:
        """Serve the topic; its states are stored."""
        if self._created:
            numbers = ", ".join(self._created)
            self._hosting.on_event(
                f"{self._topic.name} had no log of its partitions {numbers}: they begin empty"
            )
        return self._hosting.serve(self._topic, failed=self._failed)

    def _elect(self, partition: TopicPartition, stored: PartitionState | None) -> PartitionState:
        manager = self._hosting.manager
        log = manager.get(partition)
        if log is not None:
            latest = log.epochs.latest
            found = FoundLog(
                directory_id_of(manager, log),
                latest_epoch=None if latest is None else latest.epoch,
                is_clean=manager.directory_of(log).is_clean,
            )
            return elect(stored, found, node_id=self._node_id)
        if stored is not None and stored.directory is not None:
            self._ensure_directory_is_here(partition, stored.directory)
        log = log_creation.create(manager, partition, topic_id=self._topic.topic_id)
        self._created.append(str(partition.partition))
        found = FoundLog(directory_id_of(manager, log), is_new=True)
        return elect(stored, found, node_id=self._node_id)

    def _ensure_directory_is_here(self, partition: TopicPartition, directory: Uuid) -> None:
        """Mark a partition as offline if its log directory is not among the present ones."""
        manager = self._hosting.manager
        present = {each.meta.directory_id for each in manager.directories if each.meta is not None}
        if directory not in present:
            error = LogDirectoryError(
                "is not mounted, or was removed from log.dirs",
                path=format_uuid(directory),
                remedy="mount it and restart; if its data are lost, delete the topic",
            )
            missing = LogDirectory.failed(manager.ports.files, format_uuid(directory), error=error)
            manager.current.claim(partition, missing)
            missing.ensure_online()
