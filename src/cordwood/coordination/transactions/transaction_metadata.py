"""Metadata of one transactional id, and its transitions (Kafka: `TransactionMetadata`).

A transition returns the metadata after it. The shard writes that as a record, and replaces its own
value when the record is replayed. A transition that the diagram of states does not have is a
mistake of this package, and an AssertionError.

    epoch            InitProducerId raises it; so does the end of a transaction of version 2
    last epoch       the one before the last raise, to recognize a repeated request; not in records
    previous id      the producer id before the last transition; it differs after a rotation
    next id          between Prepare and Complete of a transaction that used up the epochs
"""

from collections.abc import Iterable
from typing import Final, NamedTuple, Self

from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.coordination.transactions.transaction_version import supports_epoch_bump
from cordwood.core.types import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    TopicPartition,
)

#: The highest epoch; only markers have it, so that a producer can always be fenced.
MAX_EPOCH: Final = 32_767
#: The highest epoch that a producer gets.
LAST_CLIENT_EPOCH: Final = MAX_EPOCH - 1


def is_epoch_exhausted(epoch: int) -> bool:
    """Return whether the next raise of the epoch needs another producer id."""
    return epoch >= LAST_CLIENT_EPOCH


class TransactionMetadata(NamedTuple):
    """The producer of a transactional id, and its transaction."""

    transactional_id: str
    producer_id: int
    timeout_ms: int
    last_update_ms: int
    producer_epoch: int = NO_PRODUCER_EPOCH
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = NO_TIMESTAMP
    #: The level of the request that made the last transition of a transaction.
    client_version: int = 0
    #: The epoch was raised in memory, and the record of it was rejected; transactions v0 and v1.
    has_failed_epoch_fence: bool = False

    @property
    def is_epoch_exhausted(self) -> bool:
        return is_epoch_exhausted(self.producer_epoch)

    @property
    def next_producer(self) -> tuple[int, int]:
        """The producer id and epoch that the client continues with."""
        if self.next_producer_id != NO_PRODUCER_ID:
            return self.next_producer_id, 0
        return self.producer_id, self.producer_epoch

    def to(self, state: TransactionState) -> Self:
        """Return a copy in another state."""
        assert state.may_follow(self.state), f"{self.transactional_id}: {self.state} to {state}"
        return self._replace(state=state, previous_producer_id=self.producer_id)

    # -- InitProducerId

    def with_next_epoch(self, timeout_ms: int, *, last_epoch: int, now_ms: int) -> Self:
        """Raise the epoch for a producer that begins or continues."""
        assert not self.is_epoch_exhausted, f"{self.transactional_id}: no epoch is left"
        return self._initialized(timeout_ms, now_ms=now_ms)._replace(
            producer_epoch=self.producer_epoch + 1, last_producer_epoch=last_epoch
        )

    def with_same_epoch(self, timeout_ms: int, *, now_ms: int) -> Self:
        """Repeat the answer of an InitProducerId request."""
        return self._initialized(timeout_ms, now_ms=now_ms)

    def with_producer_id(
        self, producer_id: int, timeout_ms: int, *, last_epoch: int, now_ms: int
    ) -> Self:
        """Continue with a new producer id and epoch 0."""
        return self._initialized(timeout_ms, now_ms=now_ms)._replace(
            producer_id=producer_id, producer_epoch=0, last_producer_epoch=last_epoch
        )

    def _initialized(self, timeout_ms: int, *, now_ms: int) -> Self:
        return self.to(TransactionState.EMPTY)._replace(
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            start_ms=NO_TIMESTAMP,
            last_update_ms=now_ms,
        )

    # -- one transaction

    def with_partitions(
        self, added: Iterable[TopicPartition], *, client_version: int, now_ms: int
    ) -> Self:
        """Add partitions; the first ones begin the transaction."""
        ongoing = self.to(TransactionState.ONGOING)
        return ongoing._replace(
            partitions=self.partitions.union(added),
            start_ms=now_ms if self.state.is_idle else self.start_ms,
            last_update_ms=now_ms,
            client_version=client_version,
        )

    def fenced(self, level: int) -> Self:
        """Fence the producer, in memory, before the broker aborts the transaction.

        In transactions v2 the abort raises the epoch, and this step does not.
        """
        fence = self.to(TransactionState.PREPARE_EPOCH_FENCE)
        if supports_epoch_bump(level):
            return fence
        is_raised = self.has_failed_epoch_fence or self.producer_epoch == MAX_EPOCH
        return fence._replace(
            producer_epoch=self.producer_epoch + (not is_raised),
            last_producer_epoch=NO_PRODUCER_EPOCH,
        )

    def prepared(
        self, state: TransactionState, *, client_version: int, next_producer_id: int, now_ms: int
    ) -> Self:
        """Decide the end of the transaction; without partitions it begins now."""
        end = self.to(state)._replace(
            start_ms=now_ms if self.state.is_idle else self.start_ms,
            next_producer_id=next_producer_id,
            last_update_ms=now_ms,
            client_version=client_version,
        )
        if not supports_epoch_bump(client_version):
            return end
        # An abort at the highest epoch recovers from a broken state.
        return end._replace(
            producer_epoch=min(self.producer_epoch + 1, MAX_EPOCH),
            last_producer_epoch=self.producer_epoch,
        )

    def completed(self, now_ms: int) -> Self:
        """Complete the transaction: all its markers are written."""
        is_commit = self.state is TransactionState.PREPARE_COMMIT
        producer_id, producer_epoch = self.next_producer
        return self.to(
            TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
        )._replace(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
            last_update_ms=now_ms,
            has_failed_epoch_fence=False,
        )
