"""Tests of topics served from their logs, and of deleted logs."""

import errno

from cordwood.broker.metadata.metadata_image import NO_LEADER
from cordwood.core.errors import KafkaStorageError
from cordwood.storage.manager import log_creation
from cordwood.testing.file_faults import FileFault
from tests.unit.broker.broker_samples import BrokerHarness
from tests.unit.broker.image_samples import topic, topic_id
from tests.unit.storage.manager_samples import create_future_log, partition

ORDERS = topic("orders", 2)


def harness_with_logs(*numbers: int) -> BrokerHarness:
    harness = BrokerHarness()
    for number in numbers:
        log_creation.create(harness.manager, partition(number), topic_id=topic_id("orders"))
    return harness


def test_partitions_are_served_with_their_leader_epochs() -> None:
    harness = harness_with_logs(0, 1)
    later = ORDERS.partitions[0]._replace(leader_epoch=4)
    orders = type(ORDERS)("orders", ORDERS.topic_id, (later, later))

    served = harness.hosting.serve(orders, failed={})

    assert [each.leader for each in served.partitions] == [1, 1]
    assert harness.broker.partitions.get("orders", 1).leader_epoch == 4


def test_partition_whose_log_has_failed_has_no_leader() -> None:
    harness = harness_with_logs(0)

    served = harness.hosting.serve(ORDERS, failed={partition(1): KafkaStorageError("no room")})

    assert [each.leader for each in served.partitions] == [1, NO_LEADER]
    assert harness.storage.events == ["orders-1 cannot be served: no room"]


def test_deleted_partition_has_neither_log_nor_future_log() -> None:
    harness = harness_with_logs(0, 1)
    create_future_log(harness.manager, partition(0), harness.manager.directories[1])

    harness.hosting.delete_log(partition(0))

    assert [log.partition for log in harness.manager.all_logs()] == [partition(1)]


def test_partition_without_a_log_is_deleted_without_an_event() -> None:
    harness = harness_with_logs()

    harness.hosting.delete_log(partition(0))

    assert not harness.storage.events


def test_log_that_cannot_be_renamed_for_deletion_is_reported() -> None:
    harness = harness_with_logs(0)
    harness.storage.files.script.add(FileFault(on="rename", path="*orders-0*", code=errno.ENOSPC))

    harness.hosting.delete_log(partition(0))

    assert [*harness.manager.logs] == [partition(0)]
    (event,) = harness.storage.events
    assert event.startswith("orders-0 is deleted, but its files remain: ")
