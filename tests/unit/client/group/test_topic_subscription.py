"""Subscriptions by names and by pattern."""

import pytest

from cordwood.client.group.topic_subscription import TopicSubscription, subscription_of
from cordwood.core.errors import InvalidRegularExpressionError, InvalidRequestError


def test_pattern_matches_whole_names_without_internal_topics() -> None:
    subscription = subscription_of(None, ".*a.*|__.*")

    found = subscription.matching(["a", "ba", "c", "__consumer_offsets", "__mine"])

    assert found == TopicSubscription(frozenset({"a", "ba", "__mine"}), ".*a.*|__.*")
    assert TopicSubscription(pattern="a").matching(["ab"]).names == frozenset()


def test_names_are_not_matched() -> None:
    assert subscription_of(["a"], None).matching(["b"]).names == {"a"}


@pytest.mark.parametrize(
    ("topics", "pattern", "problem"),
    ((None, None, "either"), (["a"], "a", "either"), ("a", None, "list"), (None, "", "empty")),
)
def test_subscription_needs_names_or_a_pattern(
    topics: list[str] | None, pattern: str | None, problem: str
) -> None:
    with pytest.raises(InvalidRequestError, match=problem):
        subscription_of(topics, pattern)


def test_invalid_pattern_is_an_error() -> None:
    with pytest.raises(InvalidRegularExpressionError, match="give a valid"):
        TopicSubscription(pattern="(").matching(["a"])


def test_subscription_is_empty_without_names_and_pattern() -> None:
    assert TopicSubscription().is_empty
    assert not TopicSubscription(pattern="a").is_empty
