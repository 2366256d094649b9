"""Positions at the committed offsets of a group (Java: `CoordinatorRequestManager`,
`initWithCommittedOffsetsIfNeeded`).

One request looks up all positions that need their committed offset. A partition without one keeps
no position: `auto_offset_reset` decides. A committed offset with a leader epoch is validated in the
leader's log before the first fetch.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, TypeAlias

from cordwood.client.consumer.position_errors import PositionErrors
from cordwood.client.consumer.subscription_state import TopicPartitionState
from cordwood.client.group_offset import GroupOffset
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.owned_tasks import WakeupSignal
from cordwood.client.network.runtime import LoopTurn
from cordwood.core.errors import KafkaError
from cordwood.core.types import TopicPartition

if TYPE_CHECKING:
    import asyncio

CommittedLookup: TypeAlias = Callable[
    [Collection[TopicPartition]], Awaitable[Mapping[TopicPartition, GroupOffset | None]]
]


class InitialPositions:
    """Lookups for one consumer; `woken` wakes its fetcher."""

    def __init__(
        self,
        client: NetworkClient,
        errors: PositionErrors,
        woken: WakeupSignal,
        committed: CommittedLookup,
    ) -> None:
        self._client = client
        self._errors = errors
        self._woken = woken
        self._committed = committed
        self._waiting: dict[TopicPartitionState, int] = {}
        self._looking_up: asyncio.Task[None] | None = None

    def look_up_soon(self, position: TopicPartitionState) -> None:
        """Look up the committed offset of a position, together with others of this loop turn."""
        if self._looking_up is None:
            self._looking_up = self._client.tasks.start(self._look_up())
            self._waiting.clear()
        self._waiting.setdefault(position, position.generation)

    async def _look_up(self) -> None:
        await LoopTurn()
        waiting, self._waiting = self._waiting, {}
        try:
            found = await self._committed([each.partition for each in waiting])
            for position, generation in waiting.items():
                if position.generation == generation:
                    _begin(position, found[position.partition])
        except KafkaError as error:
            for position, generation in waiting.items():
                if position.generation == generation:
                    self._errors.report(position, error)
        finally:
            self._looking_up = None
            self._woken.set()


def _begin(position: TopicPartitionState, committed: GroupOffset | None) -> None:
    position.needs_committed = False
    if committed is not None:
        position.seek(committed.offset, epoch=committed.leader_epoch)
        position.validated_epoch = committed.leader_epoch
