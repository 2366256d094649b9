"""Topics are selected by name, or by a regular expression that no name can be."""

import pytest
import typer

from cordwood.cli.topic_selection import given_topic, given_topics, select_topics
from cordwood.core.errors import UnknownTopicOrPartitionError

EXISTING = ["a.b", "axb", "orders", "returns"]


@pytest.mark.parametrize(
    ("wanted", "selected"),
    (
        (["orders"], ["orders"]),
        (["a.b"], ["a.b"]),
        (["a[.]b"], ["a.b"]),
        (["(orders|returns)"], ["orders", "returns"]),
        ([".*r.*", "orders"], ["orders", "returns"]),
        (["order.*", "a.b"], ["orders", "a.b"]),
    ),
)
def test_topics_are_selected_once(wanted: list[str], selected: list[str]) -> None:
    assert select_topics(wanted, EXISTING) == selected


@pytest.mark.parametrize(
    ("text", "message"), (("order", "topic 'order' does not exist"), ("x.*", "no topic matches"))
)
def test_selection_without_a_topic_is_an_error(text: str, message: str) -> None:
    with pytest.raises(UnknownTopicOrPartitionError, match=message):
        select_topics([text], EXISTING)


def test_text_that_is_no_expression_is_rejected() -> None:
    with pytest.raises(typer.BadParameter, match="neither the name of a topic nor a regular"):
        select_topics(["a("], EXISTING)


def test_topic_is_an_argument_or_an_option() -> None:
    assert given_topic("a", None) == given_topic(None, "a") == given_topic("a", "a") == "a"
    assert given_topics(["a"], ["b", "a"]) == ["a", "b"]
    for pair in (("a", "b"), (None, None)):
        with pytest.raises(typer.BadParameter):
            given_topic(*pair)
