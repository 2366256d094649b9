"""Topics that a command selects: by name, or by a regular expression as Kafka's tools do.

A text that can be the name of a topic is one, so `a.b` never selects `axb`. Any other text is a
regular expression that must match whole names: `orders.*`, `(orders|returns)`.
"""

import re
from collections.abc import Collection, Iterable
from typing import Final

import typer

from cordwood.cli.given_names import given_name, given_names
from cordwood.core.errors import UnknownTopicOrPartitionError

#: The characters of topic names; Kafka: `Topic.LEGAL_CHARS`.
_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")


def given_topics(arguments: Iterable[str] | None, options: Iterable[str] | None) -> list[str]:
    """Return the topics of the arguments and of `--topic`, each once."""
    return given_names(arguments, options)


def given_topic(argument: str | None, option: str | None) -> str:
    """Return the topic that is given as the argument or as `--topic`."""
    return given_name(argument, option, noun="topic", metavar="TOPIC", flag="--topic")


def is_topic_name(text: str) -> bool:
    """Return whether a text can be the name of a topic."""
    return _NAME.fullmatch(text) is not None


def select_topics(wanted: Iterable[str], existing: Collection[str]) -> list[str]:
    """Return the existing topics that names and regular expressions select, in their order."""
    selected: dict[str, None] = {}
    for text in wanted:
        if is_topic_name(text):
            if text not in existing:
                raise UnknownTopicOrPartitionError(
                    f"topic {text!r} does not exist; `cordwood topics list` prints the existing"
                    " ones"
                )
            found = [text]
        else:
            found = _matching(text, existing)
        selected |= dict.fromkeys(found)
    return list(selected)


def _matching(text: str, existing: Collection[str]) -> list[str]:
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise typer.BadParameter(
            f"{text!r} is neither the name of a topic nor a regular expression ({error})"
        ) from None
    found = [each for each in existing if pattern.fullmatch(each) is not None]
    if not found:
        raise UnknownTopicOrPartitionError(
            f"no topic matches {text!r}; `cordwood topics list` prints the existing ones"
        )
    return found
