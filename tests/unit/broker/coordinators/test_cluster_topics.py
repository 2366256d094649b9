"""Tests of the topics of an image, as coordinators see them."""

from dataclasses import replace

from cordwood.broker.coordinators.cluster_topics import ClusterTopics
from cordwood.coordination.topic_view import TopicFacts
from tests.unit.broker.image_samples import broker, cluster, topic, topic_id


def test_topics_are_found_by_name_and_by_id() -> None:
    view = ClusterTopics(cluster(topic("a", 2)))
    facts = TopicFacts("a", topic_id("a"), 2)

    assert (view.by_name("a"), view.by_id(topic_id("a"))) == (facts, facts)
    assert (view.by_name("b"), view.by_id(topic_id("b"))) == (None, None)
    assert [*view.names()] == ["a"]


def test_version_is_the_epoch_of_the_image() -> None:
    image = cluster()

    assert ClusterTopics(image.with_topic(topic("a"))).version == image.epoch + 1


def test_partitions_have_the_racks_of_their_replicas() -> None:
    image = replace(cluster(topic("a", replicas=(1, 2))), brokers={1: broker(1, "r1")})

    assert ClusterTopics(image).by_name("a") == TopicFacts("a", topic_id("a"), 1, (("r1",),))
