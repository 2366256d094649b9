"""Reconciliation of metadata and log directories at startup; a crash may have separated them.

    topic without a log       create an empty log, with an event for the operator
    log without a topic       rename it to `-stray`, with an event; also a log of an earlier topic
                              of the same name, which has another id
    future log without log    promote it: a crash interrupted the promotion
    producer ids in logs      never hand them out again, wherever they come from

The broker leads every partition that it has on disk; `epoch_at_start` gives the leader epoch.
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
from cordwood.broker.partitions.hosted_partitions import epoch_at_start
from cordwood.broker.topics.topic_hosting import TopicHosting
from cordwood.core.errors import KafkaStorageError
from cordwood.core.metadata_paths import TOPICS, topic_path
from cordwood.core.ports import MetadataStore
from cordwood.core.types import TopicPartition
from cordwood.core.znodes import CreateZNode, SetZNode
from cordwood.storage.manager import log_creation, log_renames
from cordwood.storage.manager.log_manager import LogManager


def reconcile(store: MetadataStore, hosting: TopicHosting, *, image: ClusterImage) -> ClusterImage:
    """Serve the stored topics from the loaded logs; return the image with them."""
    stored = dict(_stored_topics(store))
    _promote_future_logs(stored, hosting)
    _set_stray_logs_aside(stored, hosting)
    _reserve_producer_ids(store, hosting.manager, node_id=image.controller_id)
    topics = [_host(name, topic, hosting) for name, topic in stored.items()]
    return image.with_topic(*topics)


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


def _host(name: str, stored: StoredTopic, hosting: TopicHosting) -> TopicImage:
    """Serve a topic from its logs; return it with the leader epochs of its partitions."""
    topic = TopicImage.new(name, stored.topic_id, replicas=stored.replicas)
    partitions, missing = [*topic.partitions], []
    failed: dict[TopicPartition, KafkaStorageError] = {}
    for index, partition in enumerate(topic.names()):
        try:
            log = hosting.manager.get(partition)
            if log is None:
                log_creation.create(hosting.manager, partition, topic_id=topic.topic_id)
                missing.append(str(index))
                continue
        except KafkaStorageError as error:
            failed[partition] = error
            continue
        is_clean = hosting.manager.directory_of(log).is_clean
        epoch = epoch_at_start(log, is_clean=is_clean)
        partitions[index] = partitions[index]._replace(leader_epoch=epoch)
    if missing:
        numbers = ", ".join(missing)
        hosting.on_event(f"{name} had no log of its partitions {numbers}: they begin empty")
    topic = TopicImage(name, stored.topic_id, tuple(partitions))
    return hosting.serve(topic, failed=failed)
