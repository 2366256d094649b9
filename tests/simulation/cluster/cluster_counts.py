"""Counts of the steps of nodes in a simulated cluster: fences, truncations, retries, leaders.

The steps themselves are not events of a node, so they are wrapped for one simulation.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from cordwood.broker.membership.controller_fence import ControllerFence
from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_follower import PartitionFollower
from cordwood.client.producer.partition_queue import PartitionQueue, ProducerBatch
from cordwood.cluster.active_controller import active_controller
from cordwood.cluster.active_controller.broker_request_queue import BrokerRequestQueue
from cordwood.cluster.partition.alter_partition_manager import AlterPartitionManager
from cordwood.cluster.partition.replica_fetcher import ReplicaFetcher, SentPartitions
from cordwood.core.errors import KafkaError
from cordwood.protocol.schema import Request
from cordwood.storage.log.log import Log
from tests.simulation.cluster.cluster_world import ClusterWorld


@contextmanager
def counted(world: ClusterWorld, on_lead: Callable[[Partition, int], object]) -> Iterator[None]:
    """Count the steps while a simulation runs; the controller balances leaders early.

    `on_lead` is called with a partition and the node that begins to lead it.
    """
    begin = Partition._begin_to_lead  # noqa: SLF001  the step itself is watched

    def watched(partition: Partition, state: PartitionImage, log: Log) -> None:
        on_lead(partition, partition._resources.node_id)  # noqa: SLF001  as above
        begin(partition, state, log)

    with pytest.MonkeyPatch.context() as patch:
        _count_fences(world, patch)
        _count_truncations(world, patch)
        _count_retries(world, patch)
        patch.setattr(Partition, "_begin_to_lead", watched)
        patch.setattr(active_controller, "FIRST_REBALANCE_MS", 500)
        yield


def _count_fences(world: ClusterWorld, patch: pytest.MonkeyPatch) -> None:
    ensure_current, ensure = ControllerFence.ensure_current, Partition.ensure_epoch

    def counted_current(fence: ControllerFence, **epochs: int) -> None:
        try:
            ensure_current(fence, **epochs)
        except KafkaError as error:
            world.count(f"requests fenced: {type(error).__name__}")
            raise

    def counted_ensure(partition: Partition, leader_epoch: int) -> None:
        try:
            ensure(partition, leader_epoch)
        except KafkaError as error:
            world.count(f"requests fenced: {type(error).__name__}")
            raise

    patch.setattr(ControllerFence, "ensure_current", counted_current)
    patch.setattr(Partition, "ensure_epoch", counted_ensure)


def _count_truncations(world: ClusterWorld, patch: pytest.MonkeyPatch) -> None:
    truncate = PartitionFollower.truncate

    def counted_truncate(follower: PartitionFollower, offset: int) -> object:
        removed = follower.log.bounds.log_end - offset
        if removed > 0:
            world.count("logs truncated")
            log = follower.log
            world.note("{} ends at {}, not at {}", str(log), offset, removed + offset)
        return truncate(follower, offset)

    patch.setattr(PartitionFollower, "truncate", counted_truncate)


def _count_retries(world: ClusterWorld, patch: pytest.MonkeyPatch) -> None:
    fail, retry = AlterPartitionManager.fail, PartitionQueue.retry
    disconnect, queue = ReplicaFetcher.on_disconnect, BrokerRequestQueue.__init__

    def counted_fail(manager: AlterPartitionManager, *, now_ms: float) -> None:
        world.count("retries of AlterPartition")
        fail(manager, now_ms=now_ms)

    def counted_retry(queue: PartitionQueue, batch: ProducerBatch, not_before_ms: float) -> None:
        world.count("retries of producers")
        retry(queue, batch, not_before_ms)

    def counted_disconnect(fetcher: ReplicaFetcher, sent: SentPartitions, *, now_ms: float) -> None:
        world.count("retries of followers")
        disconnect(fetcher, sent, now_ms=now_ms)

    def counted_queue(
        queue_: BrokerRequestQueue,
        *parts: object,
        failed: Callable[[Request, Exception], object],
        **named: object,
    ) -> None:
        def counted_failed(request: Request, error: Exception) -> None:
            world.count("retries of controllers")
            failed(request, error)

        queue(queue_, *parts, failed=counted_failed, **named)  # type: ignore[arg-type]  # passed on

    patch.setattr(AlterPartitionManager, "fail", counted_fail)
    patch.setattr(PartitionQueue, "retry", counted_retry)
    patch.setattr(ReplicaFetcher, "on_disconnect", counted_disconnect)
    patch.setattr(BrokerRequestQueue, "__init__", counted_queue)
