"""Subscription of a consumer: topic names, or a pattern of names (Java: `SubscriptionState`).

In a classic group the client matches the pattern with Python's `re`; a `consumer` group sends it to
the coordinator, which uses RE2. In both a name matches as a whole.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from cordwood.core.errors import InvalidRegularExpressionError, InvalidRequestError

#: Topics that a pattern matches only with `exclude_internal_topics=False`.
INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state"})


class TopicSubscription(NamedTuple):
    """The subscribed names; with a pattern they are those that the client has matched."""

    names: frozenset[str] = frozenset()
    pattern: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the consumer is not subscribed."""
        return self.pattern is None and not self.names

    def matching(
        self, topics: Iterable[str], *, excluded: frozenset[str] = INTERNAL_TOPICS
    ) -> "TopicSubscription":
        """Return this subscription with the topics that its pattern matches."""
        if self.pattern is None:
            return self
        matches = compiled(self.pattern).fullmatch
        found = (name for name in topics if name not in excluded and matches(name))
        return self._replace(names=frozenset(found))


def subscription_of(topics: Iterable[str] | None, pattern: str | None) -> TopicSubscription:
    """Return the subscription of a call; InvalidRequestError unless one of both is given."""
    if isinstance(topics, str):
        raise InvalidRequestError(f"{topics!r} is one name; give a list of names, or a pattern")
    if (topics is None) == (pattern is None):
        raise InvalidRequestError("give either the names of topics or a pattern")
    if pattern is not None:
        if not pattern:
            raise InvalidRequestError("the pattern is empty; call `unsubscribe` instead")
        return TopicSubscription(pattern=pattern)
    return TopicSubscription(frozenset(topics or ()))


def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern that the client matches; InvalidRegularExpressionError if it is invalid."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InvalidRegularExpressionError(
            f"pattern {pattern!r}: {error}; give a valid regular expression"
        ) from error
