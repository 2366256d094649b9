"""Tests of topics served from their logs, and of deleted logs."""

from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.metadata.replica_changes import ReplicaChange, ReplicaChangeKind
from cordwood.storage.manager import log_creation
from cordwood.storage.manager.log_renames import LogDeletion
from tests.unit.broker.broker_samples import BrokerHarness
from tests.unit.broker.image_samples import topic, topic_id
from tests.unit.storage.manager_samples import create_future_log, partition

ORDERS = topic("orders", 2)


def harness_with_logs(*numbers: int) -> BrokerHarness:
    harness = BrokerHarness()
    for number in numbers:
        log_creation.create(harness.manager, partition(number), topic_id=topic_id("orders"))
    return harness


def change(state: PartitionImage) -> ReplicaChange:
    return ReplicaChange(ReplicaChangeKind.NEW_EPOCH, "orders", ORDERS.topic_id, 0, state)


def test_state_of_an_earlier_epoch_is_reported_and_not_applied() -> None:
    harness = harness_with_logs(0)
    state = ORDERS.partitions[0]._replace(leader_epoch=4)
    harness.hosting.apply(change(state))

    harness.hosting.apply(change(state._replace(leader_epoch=3)))

    assert harness.broker.partitions.get("orders", 0).leader_epoch == 4
    (event,) = harness.storage.events
    assert event.startswith("orders-0 keeps its state: ")


def test_deleted_partition_has_neither_log_nor_future_log() -> None:
    harness = harness_with_logs(0, 1)
    create_future_log(harness.manager, partition(0), harness.manager.directories[1])
    deletion = LogDeletion(harness.manager)

    harness.hosting.delete_log(partition(0), deletion)

    assert [log.partition for log in harness.manager.all_logs()] == [partition(1)]


def test_partition_without_a_log_is_deleted_without_an_event() -> None:
    harness = harness_with_logs()
    deletion = LogDeletion(harness.manager)

    harness.hosting.delete_log(partition(0), deletion)

    assert not harness.storage.events


def test_log_that_cannot_be_deleted_is_reported() -> None:
    harness = harness_with_logs(0)
    harness.manager.fail(harness.manager.directories[0], OSError("gone"))

    harness.hosting.delete_log(partition(0), LogDeletion(harness.manager))

    assert harness.storage.events[-1].startswith(
        "a partition is deleted, but its files remain: log directory /a is offline"
    )
