"""The hash of a group's topics is that of Kafka 4.3."""

import pytest

from cordwood.coordination.groups.consumer.topics import metadata_hash
from cordwood.coordination.groups.consumer.topics.metadata_hash import MetadataHashes, topic_hash
from cordwood.coordination.topic_view import TopicFacts, Topics
from cordwood.core.uuids import Uuid

FOO = TopicFacts("foo", Uuid(bytes.fromhex("273107163d584ec1988ee90d5a8dd896")), 6)
BAR = TopicFacts("bar", Uuid(bytes.fromhex("488e6c4ab2794fa2b29c316afc30bd59")), 3)


def test_hash_of_one_topic_is_that_of_kafka() -> None:
    assert MetadataHashes().of_group(["foo"], Topics([FOO])) == 421184080656212532


def test_hash_of_two_topics_is_that_of_kafka_in_any_order() -> None:
    view = Topics([FOO, BAR])

    assert MetadataHashes().of_group(["foo", "bar"], view) == -447476189511653643
    assert MetadataHashes().of_group(["bar", "foo", "missing"], view) == -447476189511653643


def test_group_without_topics_has_the_hash_0() -> None:
    assert MetadataHashes().of_group(["missing"], Topics()) == 0


def test_racks_change_the_hash_but_not_their_order() -> None:
    racks = (("a", "b"),) * FOO.partitions
    turned = (("b", "a"),) * FOO.partitions

    assert topic_hash(FOO._replace(racks=racks)) != topic_hash(FOO)
    assert topic_hash(FOO._replace(racks=racks)) == topic_hash(FOO._replace(racks=turned))


def test_known_hash_is_computed_again_when_the_topic_changes() -> None:
    hashes = MetadataHashes()
    before = hashes.of_group(["foo"], Topics([FOO]))

    assert hashes.of_group(["foo"], Topics([FOO])) == before
    assert hashes.of_group(["foo"], Topics([FOO._replace(partitions=7)])) != before


def test_deleted_topics_are_forgotten() -> None:
    hashes = MetadataHashes()
    hashes.of_group(["foo", "bar"], Topics([FOO, BAR]))

    hashes.forget_deleted(frozenset({"foo", "bar", "other"}), Topics([BAR]))

    assert hashes.of_group(["foo"], Topics()) == 0


def test_hash_that_was_computed_ahead_is_not_computed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hashes, view = MetadataHashes(), Topics([FOO])
    hashes.compute([FOO])
    monkeypatch.setattr(metadata_hash, "topic_hash", None)

    assert hashes.of_group(["foo"], view) == 421184080656212532
