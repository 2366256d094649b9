"""Reconciliation of metadata and log directories at startup; a crash may have separated them.

    topic without a log       create an empty log, many at a time, with an event; but if its log
                              directory is missing too, the partition is offline
    log without a topic       rename it to `-stray`, with an event; also a log of an earlier topic
                              of the same name, which has another id
    future log without log    promote it: a crash interrupted the promotion
    producer ids in logs      never hand them out again, wherever they come from

The broker leads every partition that it has on disk; `leader_election` gives the leader epoch. The
partitions are served by the difference between the image and one without topics.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Final

from cordwood.broker.hosting.leader_election import FoundLog, elect
from cordwood.broker.hosting.metadata_publisher import apply_image
from cordwood.broker.hosting.partition_states import directory_id_of, read_state, replacement
from cordwood.broker.hosting.topic_hosting import TopicHosting
from cordwood.broker.metadata.metadata_image import ClusterImage, TopicImage
from cordwood.broker.metadata.topic_znodes import StoredTopic, decode_topic
from cordwood.core.errors import KafkaStorageError, LogDirectoryError
from cordwood.core.metadata_paths import TOPICS, topic_path
from cordwood.core.partition_state import PartitionState
from cordwood.core.ports import MetadataStore
from cordwood.core.producer_id_block import BLOCK_PATH, BLOCK_SIZE, format_block, next_producer_id
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid, format_uuid
from cordwood.core.znodes import CreateZNode, SetZNode, ZNodeChange
from cordwood.storage.files.disk_errors import is_disk_failure
from cordwood.storage.manager import log_creation, log_renames
from cordwood.storage.manager.bulk_log_creation import BulkLogCreation
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.manager.log_manager import LogManager

#: Missing logs that are created together, before the next check for a signal.
_CREATED_TOGETHER: Final = 500


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
    errors = _create_missing_logs(elections, store, hosting.manager)
    changes: list[ZNodeChange] = []
    for election in elections:
        hosting.manager.options.check_start()
        changes += election.run(store, errors)
    store.multi(changes)
    served = image.with_topic(*(election.result() for election in elections))
    apply_image(hosting, served, before=image)
    return served


def _stored_topics(store: MetadataStore) -> Iterator[tuple[str, StoredTopic]]:
    for name in store.children(TOPICS):
        path = topic_path(name)
        node = store.get(path)
        assert node is not None, "a listed child exists"
        yield name, decode_topic(node.data, path=path)


def _promote_future_logs(stored: dict[str, StoredTopic], hosting: TopicHosting) -> None:
    """Promote future logs without a log; otherwise an empty log would be created."""
    futures = tuple(hosting.manager.futures)
    promote_interrupted(hosting.manager, [each for each in futures if each.topic in stored])


def promote_interrupted(manager: LogManager, partitions: Iterable[TopicPartition]) -> None:
    """Promote future logs without a log, whose promotion a crash has interrupted; blocks.

    While a directory is offline the log may be there, and the future log may be incomplete.
    """
    if not manager.is_whole:
        return
    for partition in partitions:
        try:
            if manager.get(partition) is None:
                log_renames.promote(manager, partition)
                manager.on_event(f"{partition}: its future log has been promoted")
        except KafkaStorageError as error:
            manager.on_event(f"{partition}: its future log cannot be promoted: {error}")


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
    if largest < next_producer_id(None if node is None else node.data):
        return
    start = largest - largest % BLOCK_SIZE
    data = format_block(range(start, start + BLOCK_SIZE), node_id)
    store.multi([CreateZNode(BLOCK_PATH, data) if node is None else SetZNode(BLOCK_PATH, data)])


def _create_missing_logs(
    elections: Sequence["_TopicElection"], store: MetadataStore, manager: LogManager
) -> dict[TopicPartition, KafkaStorageError]:
    """Create the logs of partitions that have none; return the errors by partition."""
    missing = (new for election in elections for new in election.find_missing(store))
    errors: dict[TopicPartition, KafkaStorageError] = {}
    while some := [*islice(missing, _CREATED_TOGETHER)]:
        manager.options.check_start()
        errors |= _forget_checkpoints(manager, [partition for partition, _ in some])
        creation = BulkLogCreation(manager)
        deque(creation.place(each for each in some if each[0] not in errors), maxlen=0)
        for jobs in creation.run():
            for job in jobs:
                job.exception()  # waits; the creation itself looks at the outcome
        errors |= creation.errors
    return errors


def _forget_checkpoints(
    manager: LogManager, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, KafkaStorageError]:
    """Remove the checkpoints of earlier logs; return the errors of those that stay.

    The creation of logs would wait for the loop to do it, and the loop waits for the start.
    """
    errors: dict[TopicPartition, KafkaStorageError] = {}
    for partition, directory in product(partitions, manager.online):
        try:
            if directory.is_online:
                manager.checkpoints.forget(partition, directory)
        except OSError as error:
            errors[partition] = log_creation.creation_error(str(partition), error)
            if is_disk_failure(error):
                manager.fail(directory, error)
    return errors


class _TopicElection:
    """The leaderships of one topic's partitions: found, to be stored, then published."""

    def __init__(self, name: str, stored: StoredTopic, hosting: TopicHosting, node_id: int) -> None:
        self._topic = TopicImage.new(name, stored.topic_id, replicas=stored.replicas)
        self._hosting = hosting
        self._node_id = node_id
        self._failed: dict[TopicPartition, KafkaStorageError] = {}
        self._created: list[TopicPartition] = []

    def find_missing(self, store: MetadataStore) -> Iterator[tuple[TopicPartition, Uuid]]:
        """Yield the partitions whose logs are to be created, with the id of the topic."""
        for partition in self._topic.names():
            try:
                if self._hosting.manager.get(partition) is not None:
                    continue
                self._ensure_creatable(partition, read_state(store, partition))
            except KafkaStorageError as error:
                self._failed[partition] = error
            else:
                self._created.append(partition)
                yield partition, self._topic.topic_id

    def run(
        self, store: MetadataStore, errors: Mapping[TopicPartition, KafkaStorageError]
    ) -> list[ZNodeChange]:
        """Elect the leader of each log; return the changes to the stored states.

        `errors` has the partitions whose missing logs could not be created.
        """
        self._failed |= {each: errors[each] for each in self._created if each in errors}
        topic, partitions = self._topic, [*self._topic.partitions]
        changed: dict[int, PartitionState] = {}
        for index, partition in enumerate(topic.names()):
            stored = read_state(store, partition)
            state = self._elect(partition, stored)
            if state != stored:
                changed[index] = state
            partitions[index] = partitions[index]._replace(leader_epoch=state.leader_epoch)
        self._topic = TopicImage(topic.name, topic.topic_id, tuple(partitions))
        return replacement(store, topic.name, states=changed)

    def result(self) -> TopicImage:
        """Return the topic; the partitions without a usable log have no leader."""
        on_event = self._hosting.on_event
        created = [each for each in self._created if each not in self._failed]
        if created:
            numbers = ", ".join(str(each.partition) for each in created)
            on_event(f"{self._topic.name} had no log of its partitions {numbers}: they begin empty")
        for partition, error in self._failed.items():
            on_event(f"{partition} cannot be served: {error}")
        return self._topic.without_leaders(self._failed)

    def _elect(self, partition: TopicPartition, stored: PartitionState | None) -> PartitionState:
        """Return the new state; the present one if the partition has no usable log."""
        manager = self._hosting.manager
        # A directory may have failed since, while logs were created in it.
        log = None if partition in self._failed else manager.logs.get(partition)
        if log is None:
            outage = KafkaStorageError(f"{partition}: its log directory has failed")
            self._failed.setdefault(partition, outage)
            return stored or PartitionState(self._node_id, 0, (self._node_id,))
        directory = directory_id_of(manager, log)
        if partition in self._created:
            return elect(stored, FoundLog(directory, is_new=True), node_id=self._node_id)
        latest = log.epochs.latest
        found = FoundLog(
            directory,
            latest_epoch=None if latest is None else latest.epoch,
            is_clean=manager.directory_of(log).is_clean,
        )
        return elect(stored, found, node_id=self._node_id)

    def _ensure_creatable(self, partition: TopicPartition, stored: PartitionState | None) -> None:
        """Raise if the log of a partition may be in a directory that is not here."""
        if stored is not None and stored.directory is not None:
            self._ensure_directory_is_here(partition, stored.directory)
        outages = [each.outage for each in self._hosting.manager.directories if each.outage]
        if outages:
            words = "; ".join(map(str, outages))
            raise KafkaStorageError(f"{partition}: the log cannot be created: {words}")

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
