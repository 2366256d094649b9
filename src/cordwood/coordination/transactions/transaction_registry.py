"""Transactional ids of one partition (Kafka: `TransactionStateManager`, `TxnMetadataCacheEntry`).

    begin    a transition is decided; until its record is replayed it is pending
    replay   the log has the record: the metadata change
    undo     the record was rejected: the transition never was

The ids are in the order of their last records, so that those that expire first are in front. The
ongoing transactions are indexed: a scan for timeouts does not visit idle ids.
"""

from collections.abc import Iterable, Iterator

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.transactions.transaction_log import (
    read_transaction,
    transactional_id_of,
)
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.coordination.transactions.transaction_version import supports_epoch_bump
from cordwood.core.types import NO_PRODUCER_EPOCH


class TransactionRegistry:
    """The metadata by transactional id, and the transitions that are not in the log yet."""

    def __init__(self) -> None:
        self._transactions: dict[str, TransactionMetadata] = {}
        self._pending: dict[str, TransactionMetadata] = {}
        self._ongoing: dict[str, None] = {}

    def __iter__(self) -> Iterator[TransactionMetadata]:
        """Iterate over all metadata, in the order of their last records."""
        return iter(self._transactions.values())

    def __len__(self) -> int:
        return len(self._transactions)

    def get(self, transactional_id: str) -> TransactionMetadata | None:
        return self._transactions.get(transactional_id)

    def ongoing(self) -> Iterator[TransactionMetadata]:
        """Iterate over the ongoing transactions, the one that began first in front."""
        return (self._transactions[each] for each in self._ongoing)

    def is_pending(self, transactional_id: str) -> bool:
        """Return whether a transition is pending: to a next state, or from Prepare to Complete."""
        if transactional_id in self._pending:
            return True
        found = self._transactions.get(transactional_id)
        return found is not None and found.state.is_prepared

    def is_changing(self, transactional_id: str) -> bool:
        """Return whether a record of the id is on its way to the log."""
        return transactional_id in self._pending

    def begin(self, transitions: Iterable[TransactionMetadata]) -> None:
        """Note transitions whose records are to be appended."""
        for each in transitions:
            assert each.transactional_id not in self._pending, f"{each} overtakes another one"
            self._pending[each.transactional_id] = each

    def undo(self, transitions: Iterable[TransactionMetadata]) -> None:
        """Undo transitions whose records were rejected.

        A fence of transactions v0 or v1 stays in memory: the epoch is not raised by the next fence.
        """
        for each in transitions:
            self._pending.pop(each.transactional_id, None)
            before = self._transactions.get(each.transactional_id)
            if before is not None and _is_fence(before, each):
                self._transactions[each.transactional_id] = before._replace(
                    producer_epoch=each.producer_epoch,
                    last_producer_epoch=NO_PRODUCER_EPOCH,
                    has_failed_epoch_fence=True,
                )

    def replay(self, record: CoordinatorRecord) -> None:
        """Change the metadata by a record that the log has.

        Only the pending transition has the last epoch and the failed fence, which are not stored.
        """
        transactional_id = transactional_id_of(record)
        pending = self._pending.pop(transactional_id, None)
        self._transactions.pop(transactional_id, None)
        if record.value is None:
            self._ongoing.pop(transactional_id, None)
            return
        metadata = read_transaction(record) if pending is None else pending
        self._transactions[transactional_id] = metadata
        if metadata.state is TransactionState.ONGOING:
            self._ongoing.setdefault(transactional_id)
        else:
            self._ongoing.pop(transactional_id, None)

    def forget_pending(self) -> None:
        """Forget all pending transitions: the shard is closed."""
        self._pending.clear()


def _is_fence(before: TransactionMetadata, after: TransactionMetadata) -> bool:
    return (
        before.state is TransactionState.ONGOING
        and after.state is TransactionState.PREPARE_ABORT
        and not supports_epoch_bump(after.client_version)
        and after.producer_epoch > before.producer_epoch
    )
