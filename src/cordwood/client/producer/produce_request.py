"""Produce requests, and their responses by partition (Java: `Sender.sendProduceRequest`)."""

from collections.abc import Iterable, Mapping
from typing import Final

from cordwood.client.network.cluster import Cluster
from cordwood.client.producer.partition_queue import ProducerBatch
from cordwood.client.settings import ProducerSettings
from cordwood.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

_ACKS: Final = {"0": 0, "1": 1, "all": -1, "-1": -1}


def produce_request(
    batches: Iterable[ProducerBatch], settings: ProducerSettings, *, cluster: Cluster
) -> ProduceRequest:
    """Return a request with these batches, at most one per partition."""
    topics: dict[str, TopicProduceData] = {}
    for batch in batches:
        name, number = batch.result.partition
        data = topics.setdefault(
            name,
            TopicProduceData(name=name, topic_id=cluster.topic_id(name), partitions=[]),
        )
        data.partitions.append(PartitionProduceData(index=number, records=batch.builder.build()))
    return ProduceRequest(
        transactional_id=settings.transactional_id,
        acks=_ACKS[settings.acks],
        timeout_ms=settings.request_timeout_ms,
        topics=list(topics.values()),
    )


def responses_by_partition(
    response: ProduceResponse, cluster: Cluster
) -> Mapping[tuple[str, int], PartitionProduceResponse]:
    """Return the responses by topic name and partition."""
    names = cluster.names_by_id()
    return {
        (topic.name or names.get(topic.topic_id, ""), each.index): each
        for topic in response.responses
        for each in topic.partitions
    }
