"""Tests of the topics whose logs are being created or deleted."""

from cordwood.broker.topics.busy_topics import BusyTopics, TopicWork
from tests.unit.broker.image_samples import topic, topic_id


def test_topic_is_busy_until_its_work_ends() -> None:
    busy = BusyTopics()

    with busy.begin([topic("a")], TopicWork.GROWTH):
        ended = busy.named(["x", "a"])
        assert ended is not None
        seen = ("a" in busy, ended.is_set())

    assert seen == (True, False)
    assert ("a" in busy, ended.is_set(), busy.named(["a"])) == (False, True, None)


def test_busy_topics_are_found_by_work_and_by_id() -> None:
    busy = BusyTopics()

    with (
        busy.begin([topic("a")], TopicWork.CREATION),
        busy.begin([topic("b")], TopicWork.DELETION),
    ):
        assert busy.created() == ["a"]
        assert busy.named(["a"], TopicWork.DELETION) is None
        assert busy.named(["b"], TopicWork.DELETION) is not None
        assert busy.with_ids([topic_id("b"), topic_id("x")]) == ["b"]
