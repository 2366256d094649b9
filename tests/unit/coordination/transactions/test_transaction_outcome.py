"""Effects of transactions in an outcome."""

from cordwood.coordination.outcome import Outcome
from cordwood.coordination.transactions.end_transaction import marker_of
from cordwood.coordination.transactions.transaction_outcome import (
    PendingCompleteTxn,
    ProducerIdRequest,
    TransactionOutcome,
)
from cordwood.coordination.transactions.transaction_state import TransactionState
from tests.unit.coordination.transaction_samples import ID, metadata


def test_later_outcome_adds_its_effects() -> None:
    marker = marker_of(metadata(TransactionState.PREPARE_COMMIT), coordinator_epoch=0)
    completion = PendingCompleteTxn(ID, marker)
    request = ProducerIdRequest(
        lambda _, __: TransactionOutcome(), lambda _, __: TransactionOutcome()
    )
    outcome = TransactionOutcome()

    outcome.add(TransactionOutcome(completions=[completion], producer_id_requests=[request]))

    assert outcome.completions == [completion]
    assert outcome.producer_id_requests == [request]


def test_outcome_without_such_effects_may_be_added() -> None:
    outcome = TransactionOutcome()

    outcome.add(Outcome())

    assert outcome == TransactionOutcome()
