"""Tests of the paths of the cluster's nodes."""

from cordwood.cluster.zookeeper.znodes.cluster_paths import (
    PERSISTENT,
    broker_path,
    delete_topic_path,
    entity_path,
    sequence_number,
)


def test_paths_are_those_of_kafka() -> None:
    assert broker_path(7) == "/brokers/ids/7"
    assert delete_topic_path("orders") == "/admin/delete_topics/orders"
    assert entity_path("topics", "orders") == "topics/orders"
    assert entity_path("clients", "a b") == "clients/a%20b"
    assert entity_path("brokers", "") == "brokers/<default>"


def test_persistent_nodes_come_after_their_parents() -> None:
    parents = [path.rpartition("/")[0] for path in PERSISTENT]

    assert all(parent in {"", *PERSISTENT[:index]} for index, parent in enumerate(parents)), (
        "a node is created before its parent"
    )


def test_sequence_number_is_the_end_of_the_name() -> None:
    assert sequence_number("isr_change_0000000012") == 12
