"""Partitions are found by name and by id, and those who wait for one hear when it goes."""

import errno

import pytest

from cordwood.broker.partition import PartitionTools
from cordwood.broker.partitions import Partitions, epoch_at_start
from cordwood.core.errors import UnknownTopicIdError, UnknownTopicOrPartitionError
from cordwood.observability.metrics import Metrics
from cordwood.records.inspect import PlainInspector
from tests.unit.broker.broker_samples import Hall
from tests.unit.storage.log_samples import batch, lead, opened
from tests.unit.storage.manager_samples import ORDERS_ID, OTHER_ID


def test_partition_is_the_same_by_name_and_by_id() -> None:
    hall = Hall()
    hall.host(0, 0)

    partitions = hall.broker.partitions
    assert partitions.get("orders", 1) is partitions.get(ORDERS_ID, 1)


@pytest.mark.parametrize("index", (-1, 1))
def test_partition_that_a_topic_lacks_is_unknown(index: int) -> None:
    hall = Hall()
    hall.host()

    for topic in ("orders", ORDERS_ID):
        with pytest.raises(UnknownTopicOrPartitionError, match=f"no partition {index} of"):
            hall.broker.partitions.get(topic, index)


def test_topic_that_is_not_hosted_is_unknown_by_name_and_by_id() -> None:
    partitions = Hall().broker.partitions

    with pytest.raises(UnknownTopicOrPartitionError):
        partitions.get("orders", 0)
    with pytest.raises(UnknownTopicIdError, match="is not known"):
        partitions.get(OTHER_ID, 0)


def test_partitions_that_come_later_leave_the_others_as_they_are() -> None:
    hall = Hall()
    first = hall.host(4)

    hall.host(9, 0)

    partitions = hall.broker.partitions
    assert partitions.get("orders", 0) is first
    assert [partitions.get("orders", each).leader_epoch for each in (0, 1)] == [4, 0]


def test_topic_that_is_dropped_is_unknown_and_those_who_wait_are_told() -> None:
    hall, told = Hall(), list[str]()
    hall.host().watch(lambda: told.append("orders"))

    hall.broker.partitions.drop("orders")

    assert told == ["orders"]
    with pytest.raises(UnknownTopicOrPartitionError):
        hall.broker.partitions.get("orders", 0)
    with pytest.raises(UnknownTopicIdError):
        hall.broker.partitions.get(ORDERS_ID, 0)


def test_those_who_wait_are_told_when_a_directory_fails() -> None:
    hall, told = Hall(), list[str]()
    for topic in ("orders", "others"):
        hall.host(topic=topic).watch(lambda topic=topic: told.append(topic))  # type: ignore[misc]  # a default holds the name

    hall.manager.fail(hall.manager.directories[0], OSError(errno.EIO, "gone"))

    assert told == ["orders"]


def test_log_that_nobody_hosts_may_fail() -> None:
    hall = Hall()
    hall.host()
    hall.broker.partitions.drop("orders")

    hall.manager.fail(hall.manager.directories[0], OSError(errno.EIO, "gone"))

    assert not hall.manager.directories[0].is_online


@pytest.mark.parametrize(("is_clean", "epochs"), ((True, (0, 5)), (False, (1, 6))))
def test_epoch_goes_up_after_a_crash_alone(is_clean: bool, epochs: tuple[int, int]) -> None:  # noqa: FBT001 - a case
    empty, written = opened(), opened()
    lead(written, batch(), epoch=5)

    assert tuple(epoch_at_start(log, is_clean=is_clean) for log in (empty, written)) == epochs


def test_figures_of_a_topic_go_when_it_is_dropped() -> None:
    hall, metrics = Hall(), Metrics()
    partitions = Partitions(PartitionTools(hall.manager, hall.flusher, PlainInspector), metrics)
    partitions.host("orders", topic_id=ORDERS_ID, leader_epochs=[0, 0])
    before = len(list(metrics.found()))

    partitions.drop("orders")

    assert (before, list(metrics.found())) == (3, [])
