"""Automatic commits (Java: `CommitRequestManager.AutoCommitState`).

A record counts as processed at the poll after the one that returned it. The interval commits the
processed positions alone: a record is delivered at least once. It commits unchanged ones as well:
without members, a group's offsets expire by the time of their commit. A revocation happens in a
poll, and closing and unsubscribing mean that all records are processed, so these three commit the
positions.
"""

import asyncio
import logging

from cordwood.client.consumer.subscription_state import SubscriptionState, TopicPartitionState
from cordwood.client.group.group_offsets import GroupOffsets
from cordwood.client.group_offset import GroupOffset
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.settings import ConsumerSettings
from cordwood.core.errors import KafkaError
from cordwood.core.types import NO_LEADER_EPOCH, TopicPartition

_log = logging.getLogger(__name__)


class AutoCommit:
    """Commits of one consumer's positions; without `enable_auto_commit` only on request."""

    def __init__(
        self,
        client: NetworkClient,
        settings: ConsumerSettings,
        offsets: GroupOffsets,
        subscriptions: SubscriptionState,
    ) -> None:
        self._client = client
        self._settings = settings
        self._offsets = offsets
        self._subscriptions = subscriptions
        self._unprocessed: dict[TopicPartitionState, tuple[int, GroupOffset]] = {}
        self._running: asyncio.Task[None] | None = None
        if settings.enable_auto_commit:
            client.tasks.start(self._run())

    def before_handing_out(self, position: TopicPartitionState) -> None:
        """Keep the processed position of a partition whose records are about to be returned."""
        before = _position_of(position)
        if before is not None:
            self._unprocessed.setdefault(position, (position.generation, before))

    def mark_processed(self) -> None:
        """Treat all records that were returned as processed."""
        self._unprocessed.clear()

    def positions(self) -> dict[TopicPartition, GroupOffset]:
        """Return the positions of all partitions that have one."""
        found = {each.partition: _position_of(each) for each in self._subscriptions}
        return {partition: place for partition, place in found.items() if place is not None}

    def processed(self) -> dict[TopicPartition, GroupOffset]:
        """Return the processed positions of all partitions that have one."""
        found = self.positions()
        for position, (generation, place) in self._unprocessed.items():
            if position in self._subscriptions and position.generation == generation:
                found[position.partition] = place
        return found

    async def commit_at_end(self, timeout_ms: float) -> None:
        """Commit the positions before partitions are given up; a failure is logged."""
        if not self._settings.enable_auto_commit:
            return
        if self._running is not None:  # its older offsets must not come last
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        await self._commit(self.positions(), timeout_ms)

    async def _run(self) -> None:
        while True:
            await self._client.runtime.sleep_ms(self._settings.auto_commit_interval_ms)
            if (processed := self.processed()) and self._running is None:
                self._running = self._client.tasks.start(self._commit_once(processed))
                self._running.add_done_callback(self._ended)

    def _ended(self, _: asyncio.Task[None]) -> None:
        self._running = None

    async def _commit_once(self, offsets: dict[TopicPartition, GroupOffset]) -> None:
        """Commit without a retry: the next interval commits newer positions."""
        if (error := await self._offsets.commit_once(offsets)) is not None:
            _log.warning("automatic commit failed: %s", error)

    async def _commit(self, offsets: dict[TopicPartition, GroupOffset], timeout_ms: float) -> None:
        try:
            await self._offsets.commit(offsets, timeout_ms=timeout_ms)
        except KafkaError as error:
            _log.warning("automatic commit failed: %s", error)


def _position_of(position: TopicPartitionState) -> GroupOffset | None:
    if position.offset is None:
        return None
    # With prefetched data the known epoch may be that of a later batch.
    epoch = NO_LEADER_EPOCH if position.fetched else position.last_epoch
    return GroupOffset(position.offset, leader_epoch=epoch)
