"""Tests of the settings of topic creation."""

from cordwood.broker.settings.topics import TOPICS


def test_topic_has_one_partition_and_one_replica_by_default() -> None:
    assert TOPICS["num.partitions"].default == 1
    assert TOPICS["default.replication.factor"].default == 1
