"""Errors of responses name their subject."""

import pytest

from cordwood.client.network.response_errors import ensure_success, error_of
from cordwood.core.errors import InvalidTopicError, TopicAlreadyExistsError, UnknownServerError


def test_error_has_the_message_of_the_broker_and_a_remedy() -> None:
    error = error_of(36, subject="topic 't'", message="It exists.", remedy="choose another")

    assert isinstance(error, TopicAlreadyExistsError)
    assert str(error) == "topic 't': It exists; choose another"


def test_error_without_a_message_describes_its_code() -> None:
    assert str(error_of(17, subject="topic 'ä'")).startswith("topic 'ä': The topic's name is")


def test_error_for_an_unknown_code_names_the_code() -> None:
    error = error_of(4711, subject="t-0")

    assert isinstance(error, UnknownServerError)
    assert "4711" in str(error)


def test_ensure_done_raises_only_for_an_error() -> None:
    ensure_success(0, subject="t-0")

    with pytest.raises(InvalidTopicError):
        ensure_success(17, subject="t-0")
