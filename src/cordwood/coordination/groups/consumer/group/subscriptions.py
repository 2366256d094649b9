"""Subscriptions of all members of a consumer group, counted (Kafka: `SubscriptionCount`).

A topic is subscribed by name, and by each regular expression that matches it. Regular expressions
that were not resolved yet match no topic.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from cordwood.coordination.groups.consumer.group.consumer_group_member import ConsumerGroupMember


class ResolvedRegularExpression(NamedTuple):
    """The topics that a regular expression matches (Kafka: `ResolvedRegularExpression`)."""

    topics: frozenset[str]
    #: The version of the topic view, and the time when the resolution began.
    version: int
    timestamp_ms: int


class Subscriptions:
    """Counts by topic name and by regular expression. A copy is changed to see what would be."""

    def __init__(self) -> None:
        self.names = Counter[str]()
        self.regexes = Counter[str]()
        self.resolved = dict[str, ResolvedRegularExpression]()

    def copy(self) -> "Subscriptions":
        """Return subscriptions that change on their own."""
        made = Subscriptions()
        made.names = self.names.copy()
        made.regexes = self.regexes.copy()
        made.resolved = dict(self.resolved)
        return made

    def change(
        self, removed: Iterable[ConsumerGroupMember], added: Iterable[ConsumerGroupMember]
    ) -> None:
        """Count the subscriptions of members in the place of others.

        Most changes of a member leave its names as they are, which may be 50,000.
        """
        before, after = tuple(removed), tuple(added)
        if [each.topic_names for each in before] != [each.topic_names for each in after]:
            for each in before:
                _discard(self.names, each.topic_names)
            for each in after:
                self.names.update(each.topic_names)
        _discard(self.regexes, [each.topic_regex for each in before if each.topic_regex])
        self.regexes.update(each.topic_regex for each in after if each.topic_regex)

    def after(
        self, removed: Iterable[ConsumerGroupMember], added: Iterable[ConsumerGroupMember] = ()
    ) -> "Subscriptions":
        """Return the subscriptions after a change of members; unused expressions are dropped."""
        found = self.copy()
        used = set(found.regexes)
        found.change(removed, added)
        for regex in used - found.regexes.keys():
            found.resolved.pop(regex, None)
        return found

    def topic_names(self, known: Collection[str]) -> set[str]:
        """Return those of the known topics that are subscribed.

        The members' names, of topics that may not exist, are often far more than the known ones.
        """
        subscribed = (self.names.keys(), *(each.topics for each in self.resolved.values()))
        return {name for names in subscribed for name in _common(names, known)}

    def is_subscribed(self, topic: str) -> bool:
        """Return whether a member subscribes a topic."""
        return topic in self.names or any(topic in each.topics for each in self.resolved.values())

    def has_any(self, topics: frozenset[str]) -> bool:
        """Return whether a member subscribes one of some topics."""
        subscribed = (self.names.keys(), *(each.topics for each in self.resolved.values()))
        return any(not each.isdisjoint(topics) for each in subscribed)

    def of_member(self, member: ConsumerGroupMember) -> frozenset[str]:
        """Return the topics that a member subscribes."""
        resolved = self.resolved.get(member.topic_regex or "")
        names = frozenset(member.topic_names)
        return names if resolved is None else names | resolved.topics

    def is_homogeneous(self, members: int) -> bool:
        """Return whether all members subscribe the same topics, as Kafka decides it by counts."""
        if not self.regexes:
            return all(each == members for each in self.names.values())
        if next(iter(self.regexes.values())) != members:
            return False
        return not self.names and _have_no_common_topic(self.resolved)


def _have_no_common_topic(resolved: Mapping[str, ResolvedRegularExpression]) -> bool:
    matched = Counter(each for of in resolved.values() for each in of.topics)
    return all(count == 1 for count in matched.values())


def _common(first: Collection[str], second: Collection[str]) -> Iterator[str]:
    """Yield what two collections have in common, at the cost of the smaller one."""
    smaller, larger = sorted((first, second), key=len)
    return (each for each in smaller if each in larger)


def _discard(counts: Counter[str], keys: Iterable[str]) -> None:
    """Count each key once less; a key without a count is removed."""
    for each in keys:
        left = counts[each] - 1
        if left > 0:
            counts[each] = left
        else:
            counts.pop(each, None)
