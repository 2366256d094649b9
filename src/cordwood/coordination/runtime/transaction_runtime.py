"""Shards of `__transaction_state`: also producer ids, and the markers of decided transactions.

Kafka: `TransactionMarkerChannelManager`, `TransactionMarkerRequestCompletionHandler`.

    Prepare record counts ──► markers ──► remaining partitions, after a backoff ──► complete event
                                └─ a later epoch of the producer or the coordinator: given up

A marker is retried as long as its shard serves: the end of the shard cancels the attempt. The shard
that is loaded next, here or on another broker, finds the Prepare record and resumes.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from cordwood.coordination.outcome import Outcome
from cordwood.coordination.ports import MarkerSender
from cordwood.coordination.runtime.active_shard import ActiveShard
from cordwood.coordination.runtime.completion_waits import CompletionWaits
from cordwood.coordination.runtime.coordinator_context import CoordinatorContext
from cordwood.coordination.runtime.coordinator_runtime import CoordinatorRuntime
from cordwood.coordination.runtime.runtime_ports import RuntimePorts, ShardKind
from cordwood.coordination.transactions.transaction_outcome import (
    PendingCompleteTxn,
    ProducerIdRequest,
    TransactionOutcome,
)
from cordwood.coordination.transactions.transaction_shard import TransactionShard
from cordwood.core.errors import (
    InvalidProducerEpochError,
    KafkaError,
    TransactionCoordinatorFencedError,
)
from cordwood.core.types import TopicPartition

_log = logging.getLogger(__name__)

#: The first and the longest time between two attempts to write the markers of a transaction.
FIRST_BACKOFF_MS: Final = 20
LONGEST_BACKOFF_MS: Final = 1_000

_GIVEN_UP: Final = (InvalidProducerEpochError, TransactionCoordinatorFencedError)


class TransactionRuntime(CoordinatorRuntime[TransactionShard]):
    """The transaction coordinators of this broker.

    `next_producer_id` allocates an id. `completions` is notified of each completed transaction.
    """

    def __init__(
        self,
        kind: ShardKind[TransactionShard],
        ports: RuntimePorts,
        *,
        markers: MarkerSender,
        next_producer_id: Callable[[], Awaitable[int]],
        completions: CompletionWaits,
    ) -> None:
        super().__init__(kind, ports)
        self._completions = completions
        self._markers = markers
        self._next_producer_id = next_producer_id

    def perform(self, context: CoordinatorContext[TransactionShard], outcome: Outcome) -> None:
        active = context.active
        if active is None or not isinstance(outcome, TransactionOutcome):
            return
        for completion in outcome.completions:
            context.cancel_at_end(self.tasks.begin(self._complete(active, completion)))
        for request in outcome.producer_id_requests:
            self.tasks.begin(self._allocate(active, request))

    async def _allocate(
        self, active: ActiveShard[TransactionShard], request: ProducerIdRequest
    ) -> None:
        """Continue an event with a new producer id."""
        try:
            producer_id = await self._next_producer_id()
        except KafkaError as error:
            failed = error.with_traceback(None)
            active.run(lambda _, now_ms: request.failed(failed, now_ms))
        else:
            active.run(lambda _, now_ms: request.allocated(producer_id, now_ms))

    async def _complete(
        self, active: ActiveShard[TransactionShard], completion: PendingCompleteTxn
    ) -> None:
        """Write the markers of a transaction, then let the shard complete it."""
        marker, wait_ms = completion.marker, FIRST_BACKOFF_MS
        while marker.partitions:
            errors = await self._markers.send(marker)
            if _is_given_up(errors):
                _log.warning("the markers of %r are fenced", completion.transactional_id)
                return
            marker = marker.remaining(errors)
            if marker.partitions:
                await self.ports.pause(wait_ms)
                wait_ms = min(2 * wait_ms, LONGEST_BACKOFF_MS)
        active.run(
            lambda shard, now_ms: shard.complete_markers(
                completion.transactional_id, completion.marker, now_ms=now_ms
            )
        )
        self._completions.wake(completion.transactional_id)


def _is_given_up(errors: Mapping[TopicPartition, KafkaError]) -> bool:
    return any(isinstance(each, _GIVEN_UP) for each in errors.values())
