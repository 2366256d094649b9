"""Tests of the immutable images of the cluster."""

from dataclasses import replace

from cordwood.broker.metadata.metadata_image import NO_LEADER, BrokerImage, without_leaders
from cordwood.core.errors import LeaderNotAvailableError
from tests.unit.broker.image_samples import cluster, topic, topic_id
from tests.unit.storage.manager_samples import partition


def test_topics_are_found_by_name_and_by_id() -> None:
    image = cluster(topic("a"), topic("b"))

    assert image.topics["b"] is image.topics_by_id[topic_id("b")]


def test_next_image_does_not_change_the_previous_one() -> None:
    before = cluster(topic("a"))

    after = before.with_topic(topic("b")).without_topic("a")

    assert [*before.topics] == ["a"]
    assert [*after.topics] == ["b"]
    assert [*after.topics_by_id] == [topic_id("b")]
    assert after.epoch == before.epoch + 2


def test_leaders_are_removed_and_set_again_in_the_next_epoch() -> None:
    whole = topic("a", 2)
    second = [*whole.names()][1]

    lost = whole.without_leaders([second])

    assert lost.leaderless() == [second]
    assert [each.leader_epoch for each in lost.partitions] == [0, 0]
    assert lost.with_leaders([second]).partitions == (
        whole.partitions[0],
        whole.partitions[1]._replace(leader_epoch=1),
    )


def test_changed_topic_keeps_its_position() -> None:
    image = cluster(topic("a"), topic("b")).with_topic(topic("a", 2))

    assert [*image.topics] == ["a", "b"]
    assert len(image.topics["a"].partitions) == 2


def test_partition_image_without_a_leader_has_an_error() -> None:
    partition = topic("a").partitions[0]._replace(leader=NO_LEADER)

    assert partition.error_code == LeaderNotAvailableError.code
    assert partition.offline_replicas == (1,)


def test_partition_with_a_leader_has_no_error() -> None:
    partition = topic("a").partitions[0]

    assert (partition.error_code, partition.offline_replicas) == (0, ())


def test_topics_that_brokers_write_for_themselves_are_internal() -> None:
    assert topic("__consumer_offsets").is_internal
    assert not topic("orders").is_internal


def test_brokers_without_a_listener_are_not_reached_by_it() -> None:
    image = cluster(brokers=2)
    image = replace(image, brokers={**image.brokers, 3: BrokerImage(3, {})})

    assert [broker.node_id for broker, _ in image.endpoints_of("PLAINTEXT")] == [1, 2]
    assert not [*image.endpoints_of("SSL")]


def test_leaders_are_removed_only_from_lost_partitions() -> None:
    orders, others = topic("orders", 2), topic("others")

    fewer = without_leaders([orders, others], [partition(1)])

    assert fewer[0].leaderless() == [partition(1)]
    assert fewer[1] is others
