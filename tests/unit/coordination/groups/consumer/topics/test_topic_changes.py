"""A topic is new by its id."""

from cordwood.coordination.groups.consumer.topics.topic_changes import has_new_topics
from cordwood.coordination.topic_view import TopicFacts, Topics
from tests.unit.coordination.groups.consumer.assignors.assignor_samples import topic_id

A = TopicFacts("a", topic_id(1), 1)
B = TopicFacts("b", topic_id(2), 1)


def test_topic_is_new_by_its_id() -> None:
    again = A._replace(topic_id=topic_id(3))

    assert has_new_topics({"b"}, Topics([A]), after=Topics([A, B]))
    assert has_new_topics({"a"}, Topics([A]), after=Topics([again]))
    assert not has_new_topics({"a"}, Topics([A, B]), after=Topics([A._replace(partitions=2)]))
