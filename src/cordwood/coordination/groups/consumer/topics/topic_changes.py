"""Differences between two views of all topics (Kafka: `CoordinatorMetadataDelta`)."""

from collections.abc import Iterable

from cordwood.coordination.topic_view import TopicView


def changed_topics(names: Iterable[str], before: TopicView, *, after: TopicView) -> set[str]:
    """Return those topics that were created, changed or deleted."""
    known = before.names(), after.names()
    return {
        each
        for each in names
        if (each in known[0] or each in known[1]) and before.by_name(each) != after.by_name(each)
    }


def has_new_topics(before: TopicView, after: TopicView) -> bool:
    """Return whether a topic was created, also in the place of a deleted one of its name."""
    topics = map(after.by_name, after.names())
    return any(each is not None and before.by_id(each.topic_id) is None for each in topics)
