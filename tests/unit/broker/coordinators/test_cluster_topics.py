"""Tests of the topics of an image, as coordinators see them."""

from dataclasses import replace

import pytest

from cordwood.broker.coordinators.cluster_topics import ClusterTopics
from cordwood.coordination.topic_view import TopicFacts, Topics
from tests.unit.broker.image_samples import broker, cluster, topic, topic_id

A = TopicFacts("a", topic_id("a"), 1)
B = TopicFacts("b", topic_id("b"), 1)


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


def test_topics_that_differ_in_two_images_have_changed() -> None:
    before = cluster(topic("a"), topic("b"), topic("gone"))
    after = before.with_topic(topic("a", 2)).with_topic(topic("new")).without_topic("gone")

    changed = ClusterTopics(after).changed(ClusterTopics(before))

    assert changed == {"a", "new", "gone"}
    assert ClusterTopics(after).changed(Topics()) == {"a", "b", "new"}
    assert ClusterTopics(after).changed(Topics([A, B])) == {"a", "new"}


def test_topics_change_with_the_racks_of_their_replicas() -> None:
    before = cluster(topic("a", replicas=(1,)))
    after = replace(before, brokers={1: broker(1, "r1")})

    assert ClusterTopics(after).changed(ClusterTopics(before)) == {"a"}


def test_comparison_of_two_images_makes_facts_of_replaced_topics_alone_and_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """50 shards with groups made the facts of 10,000 topics for each topic that was created."""
    before = cluster(*(topic(f"t-{number}") for number in range(100)))
    first, second = ClusterTopics(before), ClusterTopics(before.with_topic(topic("new")))
    looked_up, by_name = list[str](), ClusterTopics.by_name

    def counted(view: ClusterTopics, name: str) -> TopicFacts | None:
        looked_up.append(name)
        return by_name(view, name)

    monkeypatch.setattr(ClusterTopics, "by_name", counted)

    assert [second.changed(first) for _ in range(3)] == [{"new"}] * 3
    assert looked_up == ["new", "new"]
