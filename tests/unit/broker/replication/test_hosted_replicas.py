"""Tests of the fetchers' port over hosted partitions."""

import pytest

from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.replication.hosted_replicas import HostedReplicas
from cordwood.cluster.fetchers.local_replicas import LeaderBounds, LocalReplicas
from cordwood.core.errors import (
    KafkaStorageError,
    NotLeaderOrFollowerError,
    UnknownTopicOrPartitionError,
)
from tests.unit.broker.broker_samples import BrokerHarness
from tests.unit.storage.log_samples import batch
from tests.unit.storage.manager_samples import partition

ORDERS = partition()


def replicas_of(harness: BrokerHarness) -> LocalReplicas:
    harness.host().apply(PartitionImage((1, 2), (1, 2), 2, 1))
    return HostedReplicas(harness.broker.partitions)


def test_changes_are_those_of_the_partition() -> None:
    replicas = replicas_of(BrokerHarness())
    data = memoryview(b"".join(batch(at=at, epoch=1) for at in range(3)))

    bounds = LeaderBounds(2, 1)
    assert replicas.append(ORDERS, data, leader_epoch=1, bounds=bounds) is None
    log = replicas.follower_log(ORDERS)
    assert (log.log_start, log.high_watermark, log.log_end, log.latest_epoch) == (1, 2, 3, 1)

    assert replicas.truncate(ORDERS, 2, leader_epoch=1) is None
    assert replicas.follower_log(ORDERS).log_end == 2
    assert replicas.start_at(ORDERS, 9, leader_epoch=1) is None
    assert replicas.follower_log(ORDERS)[1:] == (9, 9, 9)


def test_other_leader_epoch_is_refused() -> None:
    replicas = replicas_of(BrokerHarness())

    for epoch in (0, 2):
        with pytest.raises(NotLeaderOrFollowerError, match=f"does not follow in epoch {epoch}"):
            replicas.truncate(ORDERS, 0, leader_epoch=epoch)


def test_partition_without_a_usable_log_has_the_error_of_its_clients() -> None:
    harness = BrokerHarness()
    replicas = replicas_of(harness)
    log = harness.broker.partitions.get("orders", 0).log
    harness.manager.fail(harness.manager.directory_of(log), OSError(5, "gone"))

    with pytest.raises(KafkaStorageError):
        replicas.follower_log(ORDERS)
    with pytest.raises(UnknownTopicOrPartitionError):
        replicas.follower_log(partition(7))
