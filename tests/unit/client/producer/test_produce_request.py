"""Produce requests group batches by topic."""

from cordwood.client.network.cluster import Cluster
from cordwood.client.producer.partition_queue import NewRecord, ProducerBatch, ProducerIdentity
from cordwood.client.producer.produce_request import produce_request
from cordwood.client.settings import ProducerSettings
from cordwood.client.topic_partitions import partitions_of
from cordwood.records.batch_builder import BatchBuilder


def batch(topic: str = "t", partition: int = 0, *, is_numbered: bool = True) -> ProducerBatch:
    (place,) = partitions_of([(topic, partition)])
    made = ProducerBatch(place, BatchBuilder(), number=(0,), created_ms=0)
    made.append(NewRecord(topic, partition, None, b"v", 1, (), 40))
    if is_numbered:
        made.set_sequence(ProducerIdentity(7, 0), 5)
    return made


def test_request_groups_batches_by_topic() -> None:
    settings = ProducerSettings(bootstrap_servers=("a:1",))
    batches = [batch("t", 0), batch("u", 0), batch("t", 1)]

    request = produce_request(batches, settings, cluster=Cluster())

    assert [(topic.name, len(topic.partitions)) for topic in request.topics] == [("t", 2), ("u", 1)]
    assert request.acks == -1
