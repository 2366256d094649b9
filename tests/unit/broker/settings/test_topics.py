"""How topics come to be."""

from cordwood.broker.settings.topics import TOPICS


def test_topic_is_made_with_one_partition_and_one_replica_where_nobody_says() -> None:
    assert TOPICS["num.partitions"].default == 1
    assert TOPICS["default.replication.factor"].default == 1
