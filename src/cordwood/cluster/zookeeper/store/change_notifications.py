"""Notifications between brokers: in-sync sets, log directories, configurations.

A notification is a sequential node. The controller removes those of in-sync sets and log
directories when it has handled them; those of configurations are removed when they are old, since
every broker reads them (Kafka: `ZkNodeChangeNotificationListener`).
"""

from collections.abc import Iterable, Sequence
from typing import Final

from cordwood.cluster.zookeeper.client.zookeeper_client import ZooKeeperClient
from cordwood.cluster.zookeeper.store.guarded_writes import ControllerGuard, GuardedWrites
from cordwood.cluster.zookeeper.store.retried_requests import RetriedRequests
from cordwood.cluster.zookeeper.znodes.cluster_paths import (
    CONFIG_CHANGE_PREFIX,
    CONFIG_CHANGES,
    ISR_CHANGE_PREFIX,
    ISR_CHANGES,
    LOG_DIR_EVENT_PREFIX,
    LOG_DIR_EVENTS,
)
from cordwood.cluster.zookeeper.znodes.event_znodes import (
    ConfigEntities,
    encode_config_change,
    encode_log_dir_failure,
)
from cordwood.cluster.zookeeper.znodes.partition_list_znodes import encode_partitions
from cordwood.core.types import TopicPartition

#: Age at which a notification of a configuration is removed.
CONFIG_CHANGE_RETENTION_MS: Final = 15 * 60 * 1_000


class ChangeNotifications:
    """Notifications, written by any broker."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self._client = client
        self._requests = RetriedRequests(client)

    async def notify_isr_changes(self, partitions: Iterable[TopicPartition]) -> None:
        """Notify the controller of in-sync sets that their leaders have stored."""
        await self._requests.append(
            f"{ISR_CHANGES}/{ISR_CHANGE_PREFIX}", encode_partitions(partitions)
        )

    async def notify_log_dir_failure(self, broker_id: int) -> None:
        """Notify the controller that a broker has lost a log directory."""
        path = f"{LOG_DIR_EVENTS}/{LOG_DIR_EVENT_PREFIX}"
        await self._requests.append(path, encode_log_dir_failure(broker_id))

    async def notify_config_change(self, entities: ConfigEntities) -> None:
        """Notify all brokers that a configuration has changed."""
        path = f"{CONFIG_CHANGES}/{CONFIG_CHANGE_PREFIX}"
        await self._requests.append(path, encode_config_change(entities))

    async def drop_isr_changes(self, numbers: Sequence[int], guard: ControllerGuard) -> None:
        """Remove handled notifications of in-sync sets."""
        await self._drop(f"{ISR_CHANGES}/{ISR_CHANGE_PREFIX}", numbers, guard)

    async def drop_log_dir_failures(self, numbers: Sequence[int], guard: ControllerGuard) -> None:
        """Remove handled notifications of log directories."""
        await self._drop(f"{LOG_DIR_EVENTS}/{LOG_DIR_EVENT_PREFIX}", numbers, guard)

    async def drop_all(self, guard: ControllerGuard) -> None:
        """Remove all notifications for the controller: a new one reads everything."""
        for folder in (ISR_CHANGES, LOG_DIR_EVENTS):
            names = await self._requests.children(folder)
            await GuardedWrites(self._client, guard).delete_all(
                [f"{folder}/{name}" for name in names]
            )

    async def purge_config_changes(self, now_ms: int) -> None:
        """Remove the notifications of configurations that every broker has read by now."""
        paths = [
            f"{CONFIG_CHANGES}/{name}" for name in await self._requests.children(CONFIG_CHANGES)
        ]
        nodes = await self._requests.get_all(paths)
        await self._requests.delete_all(
            [
                path
                for path, node in zip(paths, nodes, strict=True)
                if node is not None and now_ms - node.stat.created_ms > CONFIG_CHANGE_RETENTION_MS
            ]
        )

    async def _drop(self, prefix: str, numbers: Sequence[int], guard: ControllerGuard) -> None:
        await GuardedWrites(self._client, guard).delete_all(
            [f"{prefix}{number:010}" for number in numbers]
        )
