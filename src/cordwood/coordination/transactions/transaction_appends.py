"""Transitions of one event, as an outcome to append (Kafka: `appendTransactionToLog`).

The records of all transitions are one batch. A transition to Prepare has markers to write once its
record counts. If the batch is rejected, all its transitions are undone. A record has all partitions
of its transaction; those of many are a long event.
"""

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Final

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.outcome import Answer, CoordinatorEvent, EventCount, Outcome
from cordwood.coordination.transactions.end_transaction import marker_of
from cordwood.coordination.transactions.transaction_log import transaction_record
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_outcome import (
    PendingCompleteTxn,
    TransactionOutcome,
)
from cordwood.coordination.transactions.transaction_registry import TransactionRegistry
from cordwood.coordination.transactions.transaction_settings import TransactionSettings
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.coordination.transactions.transaction_version import record_version
from cordwood.core.errors import KafkaError

#: Partitions of transactions that the event loop handles itself: about 5 ms.
LIGHT_PARTITIONS: Final = 1_000

_DECISIONS: Final = MappingProxyType(
    {
        TransactionState.PREPARE_COMMIT: CoordinatorEvent.TRANSACTION_COMMITTED,
        TransactionState.PREPARE_ABORT: CoordinatorEvent.TRANSACTION_ABORTED,
    }
)


class TransactionAppends:
    """The ids of one partition, and the epoch of their coordinator.

    The owner may replace `settings` at any time, and sets `coordinator_epoch` before the load ends.
    """

    def __init__(self, settings: TransactionSettings, coordinator_epoch: int) -> None:
        self.settings = settings
        self.coordinator_epoch = coordinator_epoch
        self.registry = TransactionRegistry()

    def append(
        self,
        transitions: Sequence[TransactionMetadata],
        *answers: Answer,
        on_failure: Callable[[KafkaError, int], Outcome] | None = None,
    ) -> TransactionOutcome:
        """Begin transitions; `on_failure` gives what follows if their records are rejected."""
        version = record_version(self.settings.transaction_version)
        self.registry.begin(transitions)
        is_long = sum(len(each.partitions) for each in transitions) > LIGHT_PARTITIONS

        def records() -> list[CoordinatorRecord]:
            return [transaction_record(each, version=version) for each in transitions]

        def failed(error: KafkaError, now_ms: int) -> Outcome:
            self.registry.undo(transitions)
            return TransactionOutcome() if on_failure is None else on_failure(error, now_ms)

        return TransactionOutcome(
            records=[] if is_long else records(),
            answers=[*answers],
            completions=[
                self.completion_of(each) for each in transitions if each.state.is_prepared
            ],
            on_failure=failed,
            events=tuple(
                EventCount(_DECISIONS[each.state]) for each in transitions if each.state.is_prepared
            ),
            rest=(lambda: TransactionOutcome(records=records())) if is_long else None,
        )

    def completion_of(self, metadata: TransactionMetadata) -> PendingCompleteTxn:
        """Return the markers of a transaction whose end is decided."""
        return PendingCompleteTxn(
            metadata.transactional_id,
            marker_of(metadata, coordinator_epoch=self.coordinator_epoch),
        )
