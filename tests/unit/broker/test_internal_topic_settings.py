"""Internal topics are made as the broker's settings say."""

from cordwood.broker.configs import BrokerConfigs
from cordwood.broker.internal_topic_settings import as_settings_say
from cordwood.broker.topic_rules import NewTopic
from cordwood.core.settings import Source


def test_groups_offsets_are_made_as_their_settings_say() -> None:
    given = {"offsets.topic.num.partitions": "7", "offsets.topic.segment.bytes": "4096"}
    configs = BrokerConfigs(1, [Source("given", given)])

    made = as_settings_say("__consumer_offsets", configs, brokers=2)

    assert (made.partitions, made.replication_factor) == (7, 2)
    assert dict(made.configs) == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "4096",
    }


def test_transactions_are_made_as_their_settings_say() -> None:
    made = as_settings_say("__transaction_state", BrokerConfigs(1, []), brokers=5)

    assert (made.partitions, made.replication_factor) == (50, 3)
    assert dict(made.configs)["min.insync.replicas"] == "2"


def test_other_topics_are_left_to_the_defaults() -> None:
    made = as_settings_say("orders", BrokerConfigs(1, []), brokers=1)

    assert made == NewTopic(name="orders")
