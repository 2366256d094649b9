"""Resolution of regular expressions against all topics (Kafka: `TopicRegexResolver`).

A heartbeat cannot wait for it: clusters have many topics. The coordinator lists what is due, the
runtime resolves it, on a worker if it likes, and gives the result back as an event of the shard.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.groups.consumer.group.subscriptions import ResolvedRegularExpression
from cordwood.coordination.groups.consumer.topics.metadata_hash import MetadataHashes
from cordwood.coordination.groups.consumer.topics.topic_pattern import TopicPattern
from cordwood.coordination.topic_view import TopicView, existing_topics
from cordwood.core.errors import InvalidRegularExpressionError


@dataclass(frozen=True, slots=True, kw_only=True)
class RegexResolution:
    """One resolution that is due: all regular expressions of a group."""

    group_id: str
    #: The client whose heartbeat caused it: only topics that it may describe match.
    client: ClientContext
    regexes: tuple[str, ...]
    view: TopicView
    #: Gets the hashes of the topics that match, which the event after the resolution needs.
    hashes: MetadataHashes = field(default_factory=MetadataHashes, compare=False)

    def resolve(
        self, now_ms: int, *, may_describe: Callable[[str], bool] = lambda _: True
    ) -> Mapping[str, ResolvedRegularExpression]:
        """Return the topics of each expression; `now_ms` is the time at which this begins."""
        names = [each for each in self.view.names() if may_describe(each)]
        matched = {regex: _matched(regex, names) for regex in self.regexes}
        topics = frozenset[str]().union(*matched.values())
        self.hashes.compute(existing_topics(topics, self.view))
        return {
            regex: ResolvedRegularExpression(found, self.view.version, now_ms)
            for regex, found in matched.items()
        }


def _matched(regex: str, names: list[str]) -> frozenset[str]:
    """Return the topics of an expression; one that Kafka stored and RE2 rejects has none."""
    try:
        pattern = TopicPattern(regex)
    except InvalidRegularExpressionError:
        return frozenset()
    return frozenset(each for each in names if pattern.matches(each))
