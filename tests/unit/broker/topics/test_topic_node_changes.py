"""Tests of the stored changes of topics."""

from dataclasses import replace

from cordwood.broker.hosting.partition_states import read_state
from cordwood.broker.metadata.topic_znodes import folders
from cordwood.broker.topics import topic_node_changes
from cordwood.broker.topics.topic_planning import PlannedTopic
from cordwood.core.partition_state import PartitionState
from cordwood.testing.memory_metadata import MemoryMetadata
from tests.unit.broker.image_samples import topic, topic_id
from tests.unit.storage.manager_samples import partition

HERE = topic_id("this directory")
ORDERS = topic("orders")


def created() -> MemoryMetadata:
    store = MemoryMetadata()
    store.multi(folders())
    planned = [PlannedTopic(ORDERS, {"retention.ms": "5"})]
    store.multi(
        topic_node_changes.creation(store, planned=planned, directories={partition(0): HERE})
    )
    return store


def test_created_topic_has_its_configuration_and_its_directories() -> None:
    store = created()

    assert store.children("/brokers/topics") == store.children("/config/topics") == ["orders"]
    assert read_state(store, partition(0)) == PartitionState(1, 0, (1,), HERE)


def test_growth_adds_only_the_new_partitions() -> None:
    store = created()
    grown = replace(ORDERS, partitions=ORDERS.partitions * 2)

    store.multi(
        topic_node_changes.growth(store, grown=[(grown, 1)], directories={partition(1): HERE})
    )

    assert store.children("/brokers/topics/orders/partitions") == ["0", "1"]
    assert read_state(store, partition(1)) == PartitionState(1, 0, (1,), HERE)


def test_deletion_removes_all_nodes_of_a_topic() -> None:
    store = created()

    store.multi(topic_node_changes.deletion(store, doomed=[ORDERS]))

    assert store.children("/brokers/topics") == store.children("/config/topics") == []
