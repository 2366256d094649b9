"""Errors in answers."""

from cordwood.broker.answer_errors import code_of, words_of
from cordwood.core.errors import InvalidTopicError


def test_nothing_is_code_0_without_words() -> None:
    assert (code_of(None), words_of(None)) == (0, None)


def test_error_has_its_code_and_words() -> None:
    error = InvalidTopicError("no")

    assert (code_of(error), words_of(error)) == (17, "no")


def test_error_without_words_has_none() -> None:
    assert words_of(InvalidTopicError()) is None
