"""Topics are served here, once their logs are there, and are served no more.

A log that is not there, or cannot be used, leaves its partition without a leader; the others have
one.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from cordwood.broker.image import TopicImage
from cordwood.broker.partitions import Partitions
from cordwood.core.errors import KafkaStorageError
from cordwood.core.types import TopicPartition
from cordwood.storage.manager import LogManager


class HostingTools(NamedTuple):
    """What partitions are served with; `on_event` hears of what an operator should know."""

    manager: LogManager
    partitions: Partitions
    on_event: Callable[[str], object]


def serve_topic(
    topic: TopicImage,
    tools: HostingTools,
    *,
    refused: Mapping[TopicPartition, KafkaStorageError],
) -> TopicImage:
    """Serve a topic whose logs are there but for those `refused`; return what it is then."""
    for name in topic.names():
        if name in refused:
            tools.on_event(f"{name} cannot be served: {refused[name]}")
    epochs = [each.leader_epoch for each in topic.partitions]
    tools.partitions.host(topic.name, topic_id=topic.topic_id, leader_epochs=epochs)
    return topic.without_leaders(refused)


def drop_topic(topic: TopicImage, tools: HostingTools) -> None:
    """Serve a topic no more, and delete its logs."""
    tools.partitions.drop(topic.name)
    for partition in topic.names():
        try:
            _delete(tools.manager, partition)
        except KafkaStorageError as error:
            tools.on_event(f"{partition} is deleted, and its files are still there: {error}")


def _delete(manager: LogManager, partition: TopicPartition) -> None:
    if partition in manager.futures:
        manager.delete_future(partition)
    if manager.get(partition) is not None:
        manager.delete(partition)
