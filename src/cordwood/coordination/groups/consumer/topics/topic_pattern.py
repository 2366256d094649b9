"""Regular expression over topic names, in RE2's syntax (Kafka: RE2/J's `Pattern`).

The only door to RE2. Brokers of Kafka compile with RE2/J, whose syntax is that of RE2: there is no
look-around, no back-reference and no possessive quantifier. Python's `re` accepts these, and can
take exponential time on a pattern of a client.

The first pattern imports the library, which takes up to 20 ms: most brokers never have a pattern.
"""

from typing import Final

from cordwood.core.errors import InvalidRegularExpressionError

#: RE2/J's descriptions by the beginnings of RE2's, in the order of the comparison.
_DESCRIPTIONS: Final = (
    ("missing )", "missing closing )"),
    ("missing ]", "missing closing ]"),
    ("unexpected )", "regexp/syntax: internal error"),
    ("trailing \\", "trailing backslash at end of expression"),
    ("no argument for repetition operator", "missing argument to repetition operator"),
    ("bad repetition operator", "invalid nested repetition operator"),
    ("invalid repetition size", "invalid repeat count"),
    ("pattern too large", "invalid repeat count"),
    ("invalid perl operator: (?<", "invalid named capture"),
    ("invalid perl operator", "invalid or unsupported Perl syntax"),
    ("invalid named capture", "invalid named capture"),
    ("invalid character class range", "invalid character class range"),
    ("invalid character class", "invalid character class"),
    ("invalid escape sequence", "invalid escape sequence"),
)


class TopicPattern:
    """A compiled regular expression."""

    def __init__(self, regex: str) -> None:
        import re2  # noqa: PLC0415  # only brokers with a pattern pay for it

        options = re2.Options()
        options.log_errors = False
        try:
            self._pattern = re2.compile(regex, options)
        except re2.error as error:
            raise InvalidRegularExpressionError(
                f"SubscribedTopicRegex `{regex}` is not a valid regular expression: "
                f"{_description(error)}."
            ) from error

    def matches(self, topic: str) -> bool:
        """Return whether the whole name of a topic matches."""
        return self._pattern.fullmatch(topic) is not None


def _description(error: Exception) -> str:
    """Return RE2/J's words for an error of RE2."""
    found = error.args[0] if error.args else ""
    text = found.decode("utf-8", "replace") if isinstance(found, bytes) else str(found)
    return next((words for start, words in _DESCRIPTIONS if text.startswith(start)), text)
