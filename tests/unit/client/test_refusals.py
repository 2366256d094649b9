"""Errors say what they are about."""

import pytest

from cordwood.client.refusals import ensure_done, refusal
from cordwood.core.errors import InvalidTopicError, TopicAlreadyExistsError, UnknownServerError


def test_refusal_has_the_brokers_words_and_a_remedy() -> None:
    error = refusal(36, subject="topic 't'", message="It exists.", remedy="choose another")

    assert isinstance(error, TopicAlreadyExistsError)
    assert str(error) == "topic 't': It exists; choose another"


def test_refusal_without_words_says_what_the_code_means() -> None:
    assert str(refusal(17, subject="topic 'ä'")).startswith("topic 'ä': The topic's name is")


def test_refusal_of_an_unknown_code_names_it() -> None:
    error = refusal(4711, subject="t-0")

    assert isinstance(error, UnknownServerError)
    assert "4711" in str(error)


def test_ensure_done_raises_only_for_an_error() -> None:
    ensure_done(0, subject="t-0")

    with pytest.raises(InvalidTopicError):
        ensure_done(17, subject="t-0")
