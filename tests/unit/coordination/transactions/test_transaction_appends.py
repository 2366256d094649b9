"""Transitions of one event, as an outcome to append."""

import pytest

from cordwood.coordination.outcome import Answer, CoordinatorEvent, EventCount, Outcome, Ticket
from cordwood.coordination.transactions.transaction_appends import (
    LIGHT_PARTITIONS,
    TransactionAppends,
)
from cordwood.coordination.transactions.transaction_log import transaction_record
from cordwood.coordination.transactions.transaction_settings import TransactionSettings
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.core.errors import CoordinatorNotAvailableError
from tests.unit.coordination.transaction_samples import ID, NOW, metadata, tp

ERROR = CoordinatorNotAvailableError("too few replicas")
COMPLETE = metadata(TransactionState.COMPLETE_COMMIT)
PREPARED = metadata(TransactionState.PREPARE_COMMIT)


@pytest.mark.parametrize(("level", "version"), ((0, 0), (1, 1), (2, 1)))
def test_records_have_the_version_of_the_cluster(level: int, version: int) -> None:
    appends = TransactionAppends(TransactionSettings(transaction_version=level), 3)

    outcome = appends.append([COMPLETE])

    assert outcome.records == [transaction_record(COMPLETE, version=version)]


def test_prepared_end_has_markers() -> None:
    appends = TransactionAppends(TransactionSettings(), 3)

    outcome = appends.append([PREPARED])

    assert outcome.completions == [appends.completion_of(PREPARED)]
    assert outcome.completions[0].marker.coordinator_epoch == 3


def test_other_transitions_have_no_markers() -> None:
    appends = TransactionAppends(TransactionSettings(), 3)

    assert appends.append([COMPLETE]).completions == []


def test_rejected_records_undo_all_transitions() -> None:
    appends = TransactionAppends(TransactionSettings(), 3)
    other = COMPLETE._replace(transactional_id="other")

    outcome = appends.append([COMPLETE, other])
    assert outcome.on_failure is not None
    outcome.on_failure(ERROR, NOW)

    assert not appends.registry.is_pending(ID)
    assert not appends.registry.is_pending("other")


def test_rejected_records_have_the_outcome_of_the_caller() -> None:
    appends = TransactionAppends(TransactionSettings(), 3)
    failed = Outcome.answer(Ticket(1), ERROR)

    outcome = appends.append([COMPLETE], Answer(Ticket(1), ERROR), on_failure=lambda *_: failed)

    assert outcome.on_failure is not None
    assert outcome.on_failure(ERROR, NOW) is failed


def test_decisions_are_counted() -> None:
    appends = TransactionAppends(TransactionSettings(), 3)
    aborted = metadata(TransactionState.PREPARE_ABORT)._replace(transactional_id="other")

    outcome = appends.append([PREPARED, aborted])

    assert outcome.events == (
        EventCount(CoordinatorEvent.TRANSACTION_COMMITTED),
        EventCount(CoordinatorEvent.TRANSACTION_ABORTED),
    )


def test_other_transitions_are_not_counted() -> None:
    appends = TransactionAppends(TransactionSettings(), 3)

    assert appends.append([COMPLETE]).events == ()


def test_transitions_of_many_partitions_are_a_long_event() -> None:
    appends = TransactionAppends(TransactionSettings(), 3)
    many = frozenset(tp(f"orders-{number}") for number in range(LIGHT_PARTITIONS + 1))
    prepared = PREPARED._replace(partitions=many)

    outcome = appends.append([prepared])
    before = [*outcome.records]

    assert (before, appends.registry.is_pending(ID)) == ([], True)
    assert outcome.completed().records == [transaction_record(prepared, version=1)]
    assert outcome.completions == [appends.completion_of(prepared)]
