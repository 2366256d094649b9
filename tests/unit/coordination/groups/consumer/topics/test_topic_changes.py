"""Views of topics differ in created, changed and deleted topics."""

from cordwood.coordination.groups.consumer.topics.topic_changes import (
    changed_topics,
    has_new_topics,
)
from cordwood.coordination.topic_view import TopicFacts, Topics
from tests.unit.coordination.groups.consumer.assignors.assignor_samples import topic_id

A = TopicFacts("a", topic_id(1), 1)
B = TopicFacts("b", topic_id(2), 1)


def test_created_changed_and_deleted_topics_have_changed() -> None:
    before, after = Topics([A]), Topics([A._replace(partitions=2), B])

    assert changed_topics(["a", "b", "c"], before, after=after) == {"a", "b"}
    assert changed_topics(["a"], before, after=Topics()) == {"a"}


def test_topic_is_new_by_its_id() -> None:
    assert has_new_topics(Topics([A]), Topics([A, B]))
    assert has_new_topics(Topics([A]), Topics([A._replace(topic_id=topic_id(3))]))
    assert not has_new_topics(Topics([A, B]), Topics([A._replace(partitions=2)]))
