"""Cluster metadata: only newer leader epochs replace a leader."""

import pytest

from cordwood.client.network.cluster import LOWER_ANSWERS, Cluster
from cordwood.core.address import Address
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ID, OTHER_ID = Uuid(bytes(15) + b"1"), Uuid(bytes(15) + b"2")


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


def after_lower_answers(times: int, *, rejected: bool = True) -> Cluster:
    cluster = Cluster().updated(response(1, 4))
    for _ in range(times):
        cluster = cluster.updated(response(2, 3), rejected={("t", 0)} if rejected else ())
    return cluster


def test_lower_epoch_is_adopted_after_answers_to_repeated_rejections() -> None:
    assert after_lower_answers(LOWER_ANSWERS - 1).leader_of("t", 0) == 1
    assert after_lower_answers(LOWER_ANSWERS).leader_of("t", 0) == 2


def test_lower_epoch_is_never_adopted_while_no_leader_rejects_the_known_one() -> None:
    assert after_lower_answers(2 * LOWER_ANSWERS, rejected=False).leader_of("t", 0) == 1


def test_equal_epoch_forgets_the_lower_answers() -> None:
    cluster = after_lower_answers(LOWER_ANSWERS - 1).updated(response(1, 4))

    later = cluster.updated(response(2, 3), rejected={("t", 0)})

    assert later.leader_of("t", 0) == 1


def test_recreated_topic_starts_with_any_epoch() -> None:
    again = Uuid(bytes(15) + b"2")
    cluster = Cluster().updated(response(1, 4)).updated(response(2, 0, again))

    assert cluster.leader_of("t", 0) == 2


def after_replaced_answers(times: int) -> Cluster:
    cluster = Cluster().updated(response(1, 4)).updated(response(2, 0, OTHER_ID))
    for _ in range(times):
        cluster = cluster.updated(response(1, 4))
    return cluster


def test_replaced_topic_does_not_return_with_the_answer_of_an_outdated_broker() -> None:
    cluster = after_replaced_answers(LOWER_ANSWERS - 1)

    assert (cluster.topic_id("t"), cluster.leader_of("t", 0)) == (OTHER_ID, 2)
    assert cluster.updated(response(1, 1, OTHER_ID)).leader_of("t", 0) == 1


def test_replaced_topic_returns_after_repeated_answers() -> None:
    cluster = after_replaced_answers(LOWER_ANSWERS)

    assert (cluster.topic_id("t"), cluster.leader_of("t", 0)) == (ID, 1)
    assert cluster.updated(response(2, 0, OTHER_ID)).topic_id("t") == ID


def test_named_leader_counts_when_it_is_newer() -> None:
    cluster = Cluster().updated(response(1, 4))
    address = Address("new", 3)

    later = cluster.with_leader("t", 0, leader=3, leader_epoch=5, address=address)

    assert later.leader_of("t", 0) == 3
    assert later.brokers[3] == address
    assert later.with_leader("t", 0, leader=1, leader_epoch=5, address=None) is later


def test_cluster_of_other_topics_has_no_metadata_of_a_topic() -> None:
    known = Cluster().updated(response(1, 4))
    cluster = known.only({"u"})

    assert known.only({"t"}) == known
    assert cluster.partition("t", 0) is None
    assert cluster.topic_id("t") == NO_UUID


def test_topic_missing_in_a_response_stays_in_the_cluster() -> None:
    cluster = Cluster().updated(response(1, 4))
    other = response(1, 4)
    other.topics = []

    assert cluster.updated(other).leader_of("t", 0) == 1


@pytest.mark.parametrize(
    ("before", "after", "leader"),
    ((ID, ID, 1), (ID, OTHER_ID, 2), (NO_UUID, NO_UUID, 2)),
    ids=("same id", "another id", "no ids"),
)
def test_epochs_of_the_same_topic_survive_an_answer_without_it(
    before: Uuid, after: Uuid, leader: int
) -> None:
    missing = MetadataResponseTopic(error_code=3, name="t", topic_id=NO_UUID, partitions=[])
    of_a_starting_broker = MetadataResponse(
        brokers=[], cluster_id="c", controller_id=1, topics=[missing]
    )
    cluster = Cluster().updated(response(1, 4, before))

    for _ in range(2):
        cluster = cluster.updated(of_a_starting_broker)
        assert cluster.leader_of("t", 0) is None

    assert cluster.updated(response(2, 3, after)).leader_of("t", 0) == leader
