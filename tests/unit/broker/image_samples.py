"""Cluster images for tests."""

from cordwood.broker.config.listeners import ListenerEndpoint
from cordwood.broker.metadata.metadata_image import (
    BrokerImage,
    ClusterImage,
    PartitionImage,
    TopicImage,
)
from cordwood.broker.metadata.replica_changes import replica_changes
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.core.uuids import Uuid


def topic_id(name: str) -> Uuid:
    return Uuid(f"the id of {name}".encode().ljust(16, b".")[:16])


def topic(name: str, partitions: int = 1, *, replicas: tuple[int, ...] = (1,)) -> TopicImage:
    return TopicImage(name, topic_id(name), (PartitionImage.new(replicas),) * partitions)


def broker(node_id: int = 1, rack: str | None = None) -> BrokerImage:
    return BrokerImage(
        node_id, {"PLAINTEXT": ListenerEndpoint("PLAINTEXT", "h", 9090 + node_id)}, rack
    )


def cluster(*topics: TopicImage, brokers: int = 1) -> ClusterImage:
    nodes = {node_id: broker(node_id) for node_id in range(1, brokers + 1)}
    return ClusterImage(cluster_id="c", controller_id=1, brokers=nodes).with_topic(*topics)


def host(partitions: HostedPartitions, topic: TopicImage) -> None:
    """Apply the states of a topic's partitions, as at a start of the broker."""
    for change in replica_changes(cluster(), cluster(topic), node_id=partitions.node_id):
        partitions.apply(change)


def drop(partitions: HostedPartitions, topic: TopicImage) -> None:
    """Drop the partitions of a topic, as after its deletion."""
    for change in replica_changes(cluster(topic), cluster(), node_id=partitions.node_id):
        partitions.apply(change)
