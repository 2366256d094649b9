"""Tests of the creation settings of internal topics."""

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.topics.internal_topic_settings import default_topic
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.settings import SettingSource


def test_offsets_topic_is_created_with_its_settings() -> None:
    given = {"offsets.topic.num.partitions": "7", "offsets.topic.segment.bytes": "4096"}
    configs = BrokerConfigs(1, [SettingSource("given", given)])

    made = default_topic("__consumer_offsets", configs, most_replicas=2)

    assert (made.partitions, made.replication_factor) == (7, 2)
    assert dict(made.configs) == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "4096",
    }


def test_transaction_topic_is_created_with_its_settings() -> None:
    made = default_topic("__transaction_state", BrokerConfigs(1, []), most_replicas=5)

    assert (made.partitions, made.replication_factor) == (50, 3)
    assert dict(made.configs)["min.insync.replicas"] == "2"


def test_topic_of_a_cluster_has_the_replication_factor_of_the_settings() -> None:
    made = default_topic("__consumer_offsets", BrokerConfigs(1, []), most_replicas=None)

    assert made.replication_factor == 3


def test_other_topics_are_left_to_the_defaults() -> None:
    made = default_topic("orders", BrokerConfigs(1, []), most_replicas=1)

    assert made == NewTopic(name="orders")
