"""Patterns have the syntax of RE2, and errors the words of RE2/J."""

import subprocess
import sys

import pytest

from cordwood.coordination.groups.consumer.topics.topic_pattern import TopicPattern
from cordwood.core.errors import InvalidRegularExpressionError


def test_pattern_matches_whole_names() -> None:
    pattern = TopicPattern("fo+|bar")

    assert [each for each in ("foo", "bar", "foob", "abar") if pattern.matches(each)] == [
        "foo",
        "bar",
    ]


@pytest.mark.parametrize("regex", (r"foo\z", r"\Qa.b\E", r"(?i)FOO", r"(?P<n>a)", r"(?<n>a)", ""))
def test_syntax_of_re2_is_accepted(regex: str) -> None:
    TopicPattern(regex)


@pytest.mark.parametrize(
    ("regex", "description"),
    (
        ("(ab", "missing closing )"),
        ("ab)", "regexp/syntax: internal error"),
        ("[ab", "missing closing ]"),
        ("a**", "invalid nested repetition operator"),
        ("a++", "invalid nested repetition operator"),
        ("*a", "missing argument to repetition operator"),
        ("a{1001}", "invalid repeat count"),
        ("a\\", "trailing backslash at end of expression"),
        ("(?=a)", "invalid or unsupported Perl syntax"),
        ("(?<=a)b", "invalid named capture"),
        ("(?P<>a)", "invalid named capture"),
        ("[b-a]", "invalid character class range"),
        (r"\1", "invalid escape sequence"),
        (r"\Z", "invalid escape sequence"),
    ),
)
def test_other_syntax_is_rejected_in_the_words_of_kafka(regex: str, description: str) -> None:
    with pytest.raises(InvalidRegularExpressionError) as raised:
        TopicPattern(regex)

    assert str(raised.value) == (
        f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {description}."
    )


def test_pattern_beyond_the_memory_of_re2_is_rejected() -> None:
    with pytest.raises(InvalidRegularExpressionError):
        TopicPattern(r"((\pN{100}){100}){10}")


def test_library_is_imported_with_the_first_pattern() -> None:
    program = (
        "import sys, cordwood.node.node\n"
        "from cordwood.coordination.groups.consumer.topics.topic_pattern import TopicPattern\n"
        "print('re2' in sys.modules)\n"
        "TopicPattern('a')\n"
        "print('re2' in sys.modules)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )

    assert done.stdout.split() == ["False", "True"]
