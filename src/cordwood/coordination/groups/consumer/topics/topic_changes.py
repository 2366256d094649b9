"""Differences between two views of all topics (Kafka: `CoordinatorMetadataDelta`)."""

from collections.abc import Iterable

from cordwood.coordination.topic_view import TopicView


def has_new_topics(changed: Iterable[str], before: TopicView, *, after: TopicView) -> bool:
    """Return whether one of the changed topics is new, also in the place of one of its name."""
    topics = map(after.by_name, changed)
    return any(each is not None and before.by_id(each.topic_id) is None for each in topics)
