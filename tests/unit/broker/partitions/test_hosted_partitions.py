"""Tests of hosted partitions."""

import errno
from functools import partial

import pytest

from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.core.errors import UnknownTopicIdError, UnknownTopicOrPartitionError
from cordwood.observability.metrics import Metrics
from cordwood.storage.log.log_read import FetchIsolation, LogPosition
from tests.unit.broker.broker_samples import BrokerHarness, led_topic
from tests.unit.broker.image_samples import drop, host
from tests.unit.storage.manager_samples import (
    ORDERS_ID,
    OTHER_ID,
    create_future_log,
    partition,
)


def test_partition_is_the_same_by_name_and_by_id() -> None:
    harness = BrokerHarness()
    harness.host(0, 0)

    partitions = harness.broker.partitions
    assert partitions.get("orders", 1) is partitions.get(ORDERS_ID, 1)


@pytest.mark.parametrize("index", (-1, 1))
def test_partition_that_a_topic_lacks_is_unknown(index: int) -> None:
    harness = BrokerHarness()
    harness.host()

    for topic in ("orders", ORDERS_ID):
        with pytest.raises(UnknownTopicOrPartitionError, match=f"no partition {index} of"):
            harness.broker.partitions.get(topic, index)


def test_topic_that_is_not_hosted_is_unknown_by_name_and_by_id() -> None:
    partitions = BrokerHarness().broker.partitions

    with pytest.raises(UnknownTopicOrPartitionError):
        partitions.get("orders", 0)
    with pytest.raises(UnknownTopicIdError, match="is not known"):
        partitions.get(OTHER_ID, 0)


def test_partitions_added_later_do_not_change_existing_ones() -> None:
    harness = BrokerHarness()
    first = harness.host(4)

    harness.host(4, 0)

    partitions = harness.broker.partitions
    assert partitions.get("orders", 0) is first
    assert [partitions.get("orders", each).leader_epoch for each in (0, 1)] == [4, 0]


def test_dropped_topic_is_unknown_and_its_watchers_are_notified() -> None:
    harness, told = BrokerHarness(), list[str]()
    harness.host().wait_for(
        LogPosition(0, 1), lambda: told.append("orders"), isolation=FetchIsolation.LOG_END
    )

    harness.drop()

    assert told == ["orders"]
    with pytest.raises(UnknownTopicOrPartitionError):
        harness.broker.partitions.get("orders", 0)
    with pytest.raises(UnknownTopicIdError):
        harness.broker.partitions.get(ORDERS_ID, 0)


def test_each_change_of_a_role_is_notified() -> None:
    harness, seen = BrokerHarness(), list[tuple[str, str]]()
    orders = harness.host(0)
    harness.broker.partitions.on_role(
        lambda name: seen.append((str(name), type(orders.role).__name__))
    )

    led = led_topic(0).partitions[0]
    orders.apply(led)  # the same leadership again
    orders.apply(led._replace(leader_epoch=1))
    orders.apply(led._replace(leader_epoch=2, leader=2))
    orders.apply(led._replace(leader_epoch=3, leader=-1))
    harness.drop()

    roles = ("Leader", "Follower", "Offline", "Offline")
    assert seen == [("orders-0", each) for each in roles]


def test_watchers_are_notified_when_a_directory_fails() -> None:
    harness, told = BrokerHarness(), list[str]()
    for topic in ("orders", "others"):
        harness.host(topic=topic).wait_for(
            LogPosition(0, 1), partial(told.append, topic), isolation=FetchIsolation.HIGH_WATERMARK
        )

    harness.manager.fail(harness.manager.directories[0], OSError(errno.EIO, "gone"))

    assert told == ["orders"]


def test_partition_stays_online_when_the_directory_of_its_future_log_fails() -> None:
    harness = BrokerHarness()
    orders = harness.host()
    other = harness.manager.directories[1]
    create_future_log(harness.manager, partition(), other)

    harness.manager.fail(other, OSError(errno.EIO, "gone"))

    assert orders.led_log.directory == "/a/orders-0"


def test_log_that_is_not_hosted_may_fail() -> None:
    harness = BrokerHarness()
    harness.host()
    harness.drop()

    harness.manager.fail(harness.manager.directories[0], OSError(errno.EIO, "gone"))

    assert not harness.manager.directories[0].is_online


def test_metrics_of_a_dropped_topic_are_removed() -> None:
    harness, metrics = BrokerHarness(), Metrics()
    partitions = HostedPartitions(harness.resources, metrics=metrics)
    host(partitions, led_topic(0, 0))
    before = len(list(metrics.collect()))

    drop(partitions, led_topic(0, 0))

    assert (before, list(metrics.collect())) == (3, [])
