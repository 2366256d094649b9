"""Cluster metadata: only newer leader epochs replace a leader."""

from cordwood.client.network.cluster import Cluster
from cordwood.core.address import Address
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ID = Uuid(bytes(15) + b"1")


def response(
    leader: int, epoch: int, topic_id: Uuid = ID, *, error_code: int = 0
) -> MetadataResponse:
    partition = MetadataResponsePartition(
        error_code=0,
        partition_index=0,
        leader_id=leader,
        leader_epoch=epoch,
        replica_nodes=[1, 2],
        isr_nodes=[1],
    )
    topic = MetadataResponseTopic(
        error_code=error_code, name="t", topic_id=topic_id, partitions=[partition]
    )
    brokers = [MetadataResponseBroker(node_id=n, host="h", port=n, rack="r") for n in (1, 2)]
    return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=1, topics=[topic])


def test_leader_is_found_after_an_update() -> None:
    cluster = Cluster().updated(response(1, 4))

    assert cluster.leader_of("t", 0) == 1
    assert cluster.brokers[1] == Address("h", 1)
    assert cluster.names_by_id() == {ID: "t"}
    assert cluster.topic_id("t") == ID


def test_leader_that_cannot_be_reached_is_none() -> None:
    assert Cluster().updated(response(3, 4)).leader_of("t", 0) is None


def test_older_epoch_does_not_replace_a_newer_leader() -> None:
    cluster = Cluster().updated(response(1, 4)).updated(response(2, 3))

    assert cluster.leader_of("t", 0) == 1


def test_recreated_topic_starts_with_any_epoch() -> None:
    again = Uuid(bytes(15) + b"2")
    cluster = Cluster().updated(response(1, 4)).updated(response(2, 0, again))

    assert cluster.leader_of("t", 0) == 2


def test_named_leader_counts_when_it_is_newer() -> None:
    cluster = Cluster().updated(response(1, 4))
    address = Address("new", 3)

    later = cluster.with_leader("t", 0, leader=3, leader_epoch=5, address=address)

    assert later.leader_of("t", 0) == 3
    assert later.brokers[3] == address
    assert later.with_leader("t", 0, leader=1, leader_epoch=5, address=None) is later


def test_removed_topic_has_no_metadata() -> None:
    cluster = Cluster().updated(response(1, 4)).without("t")

    assert cluster.partition("t", 0) is None
    assert cluster.topic_id("t") == NO_UUID


def test_topic_missing_in_a_response_stays_in_the_cluster() -> None:
    cluster = Cluster().updated(response(1, 4))
    other = response(1, 4)
    other.topics = []

    assert cluster.updated(other).leader_of("t", 0) == 1
