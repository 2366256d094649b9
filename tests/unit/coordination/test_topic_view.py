"""A view of topics finds them by name and by id."""

from cordwood.coordination.topic_view import TopicFacts, Topics, existing_topics
from cordwood.core.uuids import Uuid

ORDERS = TopicFacts("orders", Uuid(bytes(15) + b"\1"), 3)


def test_topic_is_found_by_name_and_by_id() -> None:
    topics = Topics([ORDERS], version=7)

    assert topics.by_name("orders") is ORDERS
    assert topics.by_id(ORDERS.topic_id) is ORDERS
    assert [*topics.names()] == ["orders"]
    assert topics.version == 7


def test_unknown_topic_is_not_found() -> None:
    topics = Topics()

    assert topics.by_name("orders") is None
    assert topics.by_id(ORDERS.topic_id) is None


def test_existing_topics_are_those_of_the_view() -> None:
    assert existing_topics(["none", "orders"], Topics([ORDERS])) == [ORDERS]


def test_created_changed_and_deleted_topics_have_changed() -> None:
    other = TopicFacts("other", Uuid(bytes(15) + b"\2"), 1)
    grown = ORDERS._replace(partitions=4)

    assert Topics([ORDERS]).changed(Topics()) == {"orders"}
    assert Topics([grown, other]).changed(Topics([ORDERS, other])) == {"orders"}
    assert Topics().changed(Topics([ORDERS])) == {"orders"}
