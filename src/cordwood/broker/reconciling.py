"""At the start, metadata and log directories are made to agree: a crash may have come between them.

    a topic without a log       the log is made, empty, and told of
    a log without a topic       it is set aside as `-stray`, and told of; so is one of an earlier
                                topic of the same name, which has another id
    a copy, and no log          the crash came while the copy took the log's place: it takes it now
    ids of producers in logs    are given out no more, wherever they are from

What a broker has on disk it leads, in the epoch that follows from how it was left.
"""

from collections.abc import Iterator

from cordwood.broker.hosting import HostingTools, serve_topic
from cordwood.broker.image import ClusterImage, TopicImage
from cordwood.broker.partitions import epoch_at_start
from cordwood.broker.producer_ids import BLOCK_PATH, BLOCK_SIZE, block_after, format_block
from cordwood.broker.topic_nodes import KeptTopic, decode_topic
from cordwood.core.errors import KafkaStorageError
from cordwood.core.metadata_nodes import TOPICS, topic_path
from cordwood.core.nodes import CreateNode, SetNode
from cordwood.core.ports import MetadataStore
from cordwood.core.types import TopicPartition
from cordwood.storage.manager import LogManager


def reconcile(store: MetadataStore, tools: HostingTools, *, image: ClusterImage) -> ClusterImage:
    """Serve what the metadata say there is; return the image with it. Logs have been loaded."""
    kept = dict(_kept(store))
    _promote(kept, tools)
    _set_aside(kept, tools)
    _reserve_producer_ids(store, tools.manager, node_id=image.controller_id)
    topics = [_hosted(name, topic, tools) for name, topic in kept.items()]
    return image.with_topic(*topics)


def _kept(store: MetadataStore) -> Iterator[tuple[str, KeptTopic]]:
    for name in store.children(TOPICS):
        path = topic_path(name)
        node = store.get(path)
        assert node is not None, "children are there"
        yield name, decode_topic(node.data, path=path)


def _promote(kept: dict[str, KeptTopic], tools: HostingTools) -> None:
    """Let copies be logs where there are none, or they would be made anew, empty."""
    manager = tools.manager
    for partition in tuple(manager.futures):
        if partition.topic not in kept:
            continue
        try:
            if manager.get(partition) is None:
                manager.promote(partition)
                tools.on_event(f"{partition} is the copy that was to take its place")
        except KafkaStorageError as error:
            tools.on_event(f"{partition} cannot take its place: {error}")


def _set_aside(kept: dict[str, KeptTopic], tools: HostingTools) -> None:
    """Keep logs that belong to no topic out of everybody's way."""
    manager = tools.manager
    for partition in tuple(manager.logs):
        try:
            why = _why_stray(kept.get(partition.topic), partition, manager)
            if why:
                manager.set_aside(partition)
                tools.on_event(f"{partition} is set aside as -stray: {why}")
        except KafkaStorageError as error:
            tools.on_event(f"{partition} cannot be looked at: {error}")


def _why_stray(topic: KeptTopic | None, partition: TopicPartition, manager: LogManager) -> str:
    """Return why a log belongs to no topic, nothing if it does."""
    if topic is None:
        return "there is no such topic"
    if partition.partition >= len(topic.replicas):
        return f"its topic has {len(topic.replicas)} partitions"
    topic_id = manager.topic_id(partition)
    if topic_id is not None and topic_id != topic.topic_id:
        return "its topic was deleted, another one has the name now"
    if topic_id is None:
        manager.create(partition, topic_id=topic.topic_id)
    return ""


def _reserve_producer_ids(store: MetadataStore, manager: LogManager, *, node_id: int) -> None:
    """Take the block that the largest id in any log is of, if it is still to be given out."""
    largest = max(
        (max(log.producers.producers, default=-1) for log in manager.all_logs()), default=-1
    )
    node = store.get(BLOCK_PATH)
    if largest < block_after(None if node is None else node.data).start:
        return
    start = largest - largest % BLOCK_SIZE
    data = format_block(range(start, start + BLOCK_SIZE), node_id)
    store.multi([CreateNode(BLOCK_PATH, data) if node is None else SetNode(BLOCK_PATH, data)])


def _hosted(name: str, kept: KeptTopic, tools: HostingTools) -> TopicImage:
    """Serve a topic, each partition as it was left; return it with what is known of them here."""
    topic = TopicImage.new(name, kept.topic_id, replicas=kept.replicas)
    partitions, missing = [*topic.partitions], []
    refused: dict[TopicPartition, KafkaStorageError] = {}
    for index, partition in enumerate(topic.names()):
        try:
            log = tools.manager.get(partition)
            if log is None:
                tools.manager.create(partition, topic_id=topic.topic_id)
                missing.append(str(index))
                continue
        except KafkaStorageError as error:
            refused[partition] = error
            continue
        is_clean = tools.manager.directory_of(log).is_clean
        epoch = epoch_at_start(log, is_clean=is_clean)
        partitions[index] = partitions[index]._replace(leader_epoch=epoch)
    if missing:
        numbers = ", ".join(missing)
        tools.on_event(f"{name} had no log of its partitions {numbers}: they begin empty")
    topic = TopicImage(name, kept.topic_id, tuple(partitions))
    return serve_topic(topic, tools, refused=refused)
