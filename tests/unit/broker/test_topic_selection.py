"""Topics said by name or by id are found, and contradictions refused."""

import pytest

from cordwood.broker.topic_selection import Said, select
from cordwood.core.errors import KafkaError
from cordwood.core.ids import NO_UUID, Uuid
from tests.unit.broker.image_samples import cluster, topic, topic_id

IMAGE = cluster(topic("a"), topic("b"))
A, B = topic_id("a"), topic_id("b")
UNKNOWN = Uuid(bytes(range(16)))


def test_topics_are_meant_by_name_and_by_id() -> None:
    selection = select([Said("a"), Said(None, B)], IMAGE)

    assert selection == ({"b": B, "a": A}, [])


def test_unknown_topics_are_refused_each_in_its_way() -> None:
    selection = select([Said("x"), Said(None, UNKNOWN), Said("a")], IMAGE)

    assert selection.meant == {"a": A}
    assert {said: error.code for said, error in selection.refused} == {
        Said("x"): 3,
        Said(None, UNKNOWN): 100,
    }


def problems(*said: Said) -> list[tuple[Said, str]]:
    selection = select(said, IMAGE)
    assert not selection.meant
    return [(each, _words(error)) for each, error in selection.refused]


def _words(error: KafkaError) -> str:
    assert error.code == 42
    return str(error)


@pytest.mark.parametrize(
    ("said", "words"),
    (
        (Said(None, NO_UUID), "Neither topic name nor id were specified."),
        (Said("a", A), "You may not specify both topic name and topic id."),
    ),
)
def test_contradictions_are_refused(said: Said, words: str) -> None:
    assert problems(said) == [(said, words)]


def test_topic_said_twice_is_refused_once() -> None:
    assert problems(Said("a"), Said("a")) == [(Said("a"), "Duplicate topic name.")]
    assert problems(Said(None, A), Said(None, A)) == [(Said(None, A), "Duplicate topic id.")]


def test_topic_said_by_name_and_by_id_is_refused() -> None:
    words = "The provided topic name maps to an ID that was already supplied."

    assert problems(Said("a"), Said(None, A)) == [(Said("a", A), words)]
