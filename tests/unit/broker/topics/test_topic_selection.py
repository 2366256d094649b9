"""Tests of topics selected by name or by id."""

import pytest

from cordwood.broker.topics.topic_selection import TopicReference, select
from cordwood.core.errors import KafkaError
from cordwood.core.uuids import NO_UUID, Uuid
from tests.unit.broker.image_samples import cluster, topic, topic_id

IMAGE = cluster(topic("a"), topic("b"))
A, B = topic_id("a"), topic_id("b")
UNKNOWN = Uuid(bytes(range(16)))


def test_topics_are_selected_by_name_and_by_id() -> None:
    selection = select([TopicReference("a"), TopicReference(None, B)], IMAGE)

    assert selection == ({"b": B, "a": A}, [])


def test_unknown_topics_are_rejected_by_name_and_by_id() -> None:
    selection = select(
        [TopicReference("x"), TopicReference(None, UNKNOWN), TopicReference("a")], IMAGE
    )

    assert selection.topic_ids == {"a": A}
    assert {said: error.code for said, error in selection.rejected} == {
        TopicReference("x"): 3,
        TopicReference(None, UNKNOWN): 100,
    }


def problems(*said: TopicReference) -> list[tuple[TopicReference, str]]:
    selection = select(said, IMAGE)
    assert not selection.topic_ids
    return [(each, _words(error)) for each, error in selection.rejected]


def _words(error: KafkaError) -> str:
    assert error.code == 42
    return str(error)


@pytest.mark.parametrize(
    ("said", "words"),
    (
        (TopicReference(None, NO_UUID), "Neither topic name nor id were specified."),
        (TopicReference("a", A), "You may not specify both topic name and topic id."),
    ),
)
def test_contradictory_references_are_rejected(said: TopicReference, words: str) -> None:
    assert problems(said) == [(said, words)]


def test_duplicate_topic_is_rejected_once() -> None:
    assert problems(TopicReference("a"), TopicReference("a")) == [
        (TopicReference("a"), "Duplicate topic name.")
    ]
    assert problems(TopicReference(None, A), TopicReference(None, A)) == [
        (TopicReference(None, A), "Duplicate topic id.")
    ]


def test_topic_referenced_by_name_and_by_id_is_rejected() -> None:
    words = "The provided topic name maps to an ID that was already supplied."

    assert problems(TopicReference("a"), TopicReference(None, A)) == [
        (TopicReference("a", A), words)
    ]
