"""Validation of positions in the log of the partition's leader (Java: `SubscriptionState`,
`OffsetsForLeaderEpochClient`; KIP-320).

A position is valid in one leader epoch of one topic id:

    another leader epoch   the leader returns the end of the epoch that was read last. A position
                           beyond it is truncated: the log has lost records, or has others there
    another topic id       the topic was recreated: the position does not exist

A response to an earlier fetch may move the position during its validation. The leader's answer is
not one about the new position then, which is validated again.

The leader epoch of a position may be above the cluster's, if the cluster has lost its metadata (see
`network/cluster.py`). It is validated in the same way.
"""

import logging
from typing import TYPE_CHECKING

from cordwood.client.consumer.offset_fetcher import end_of_epoch
from cordwood.client.consumer.position_errors import SEEK, PositionErrors
from cordwood.client.consumer.subscription_state import PositionCheck, TopicPartitionState
from cordwood.client.network.cluster import NO_NODE, PartitionInfo
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.owned_tasks import WakeupSignal
from cordwood.core.errors import (
    KafkaError,
    LeaderNotAvailableError,
    OffsetOutOfRangeError,
)

if TYPE_CHECKING:
    import asyncio

_log = logging.getLogger(__name__)


class PositionValidation:
    """Validation for one consumer, one position at a time; `woken` wakes its fetcher."""

    def __init__(self, client: NetworkClient, errors: PositionErrors, woken: WakeupSignal) -> None:
        self._client = client
        self._errors = errors
        self._woken = woken
        self._validating: asyncio.Task[None] | None = None

    def leader_of(self, position: TopicPartitionState, state: PartitionInfo) -> int | None:
        """Return the leader to fetch from; None while the position is not valid there."""
        topic, _ = position.partition
        leader = self._client.cluster.leader_of(*position.partition)
        if leader is None:
            error = LeaderNotAvailableError(f"{position.partition} has no leader for now")
            if state.leader == NO_NODE:
                self._client.rejected.add(position.partition)
            self._errors.retry_later(position, error)
            return None
        found = position.check(self._client.cluster.topic_id(topic), state.leader_epoch)
        if found is PositionCheck.VALID:
            return leader
        if found is PositionCheck.TOPIC_RECREATED:
            reason = f"{position.partition}: the topic was deleted, another one has the name now"
            self._errors.reset(position, reason)
            self._woken.set()
            return None
        if self._validating is None:
            self._validating = self._client.tasks.start(self._validate(position, state))
        return None

    async def _validate(self, position: TopicPartitionState, state: PartitionInfo) -> None:
        asked = position.fetch_position
        try:
            epoch, end = await end_of_epoch(
                self._client, position.partition, epoch=asked.last_epoch
            )
            if position.fetch_position == asked:
                self._complete(position, state, epoch=epoch, end=end)
        except KafkaError as error:
            self._errors.retry_later(position, error)
        finally:
            self._validating = None
            self._woken.set()

    def _complete(
        self, position: TopicPartitionState, state: PartitionInfo, *, epoch: int, end: int
    ) -> None:
        target = self._errors.reset_target
        problem = position.complete_validation(end, epoch=epoch, reset_target=target)
        if problem and target is None:
            self._errors.report(position, OffsetOutOfRangeError(f"{problem}; {SEEK}"))
            return
        position.validated_epoch = state.leader_epoch
        position.backoff = None
        if problem:
            _log.warning("%s; auto_offset_reset applies", problem)
