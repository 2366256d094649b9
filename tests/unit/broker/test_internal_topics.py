"""The names are Kafka's."""

from cordwood.broker.internal_topics import INTERNAL_TOPICS


def test_internal_topics_are_those_of_kafka() -> None:
    assert sorted(INTERNAL_TOPICS) == [
        "__consumer_offsets",
        "__share_group_state",
        "__transaction_state",
    ]
