"""Tests of the throttles of one broker, and of the lists of replicas in topics."""

import pytest

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_resources import ALL_BROKERS, ConfigResource, topic_resource
from cordwood.broker.config.replication_throttles import ReplicationThrottles, listed_partitions
from cordwood.core.binary import INT64_MAX
from cordwood.core.config_codes import ResourceType
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.testing.virtual_clock import VirtualClock

ORDERS = topic_resource("orders")
ME = ConfigResource(ResourceType.BROKER, "1")
FIRST = TopicPartition(TopicName("orders"), PartitionId(0))


def throttles() -> tuple[BrokerConfigs, ReplicationThrottles]:
    configs = BrokerConfigs(1, [])
    return configs, ReplicationThrottles(configs, VirtualClock())


@pytest.mark.parametrize(
    ("text", "partitions"),
    (("*", None), ("0:1, 1:2,2:1", {0, 2}), ("3:2", set()), ("0:1,", {0})),
)
def test_list_has_the_partitions_of_this_broker(text: str, partitions: set[int] | None) -> None:
    assert listed_partitions(text, node_id=1) == partitions


def test_nothing_is_throttled_by_default() -> None:
    _, found = throttles()

    assert [each.limit for each in (found.leader, found.follower, found.log_dirs)] == [
        INT64_MAX
    ] * 3
    assert not found.leader.is_listed(FIRST)


def test_limits_are_those_of_the_broker_before_those_of_all_brokers() -> None:
    configs, found = throttles()

    configs.apply(
        ALL_BROKERS,
        {
            "leader.replication.throttled.rate": "1",
            "replica.alter.log.dirs.io.max.bytes.per.second": "2",
        },
    )
    configs.apply(ME, {"leader.replication.throttled.rate": "3"})

    assert [each.limit for each in (found.leader, found.follower, found.log_dirs)] == [
        3,
        INT64_MAX,
        2,
    ]


def test_lists_of_a_topic_are_used_until_they_are_removed() -> None:
    configs, found = throttles()

    configs.apply(ORDERS, {"leader.replication.throttled.replicas": "0:1"})
    during = (found.leader.is_listed(FIRST), found.follower.is_listed(FIRST))
    configs.apply(ORDERS, {})

    assert during == (True, False)
    assert not found.leader.is_listed(FIRST)


def test_lists_stay_when_a_default_of_all_topics_changes() -> None:
    configs, found = throttles()
    configs.apply(ORDERS, {"follower.replication.throttled.replicas": "*"})

    configs.apply(ALL_BROKERS, {"log.retention.ms": "1000"})

    assert found.follower.is_listed(FIRST)
