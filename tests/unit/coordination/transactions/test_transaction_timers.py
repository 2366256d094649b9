"""Timers of a transaction shard, and the completion of transactions."""

from collections import Counter

import pytest

from cordwood.coordination.outcome import CoordinatorEvent
from cordwood.coordination.transactions.transaction_settings import TransactionSettings
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.coordination.transactions.transaction_timers import EXPIRATION, TIMEOUTS
from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    NotCoordinatorError,
)
from tests.unit.coordination.transaction_samples import (
    ID,
    NOW,
    ORDERS,
    TransactionHarness,
    metadata,
    tp,
)

UNAVAILABLE = CoordinatorNotAvailableError("too few replicas")
SCAN_MS = 10_000
EXPIRATION_MS = 604_800_000


def ongoing(epoch: int = 5, *, level: int = 2) -> TransactionHarness:
    """Return a shard with a transaction that the next scan finds timed out."""
    harness = TransactionHarness(TransactionSettings(transaction_version=level))
    late = metadata(TransactionState.ONGOING, (7, epoch))._replace(timeout_ms=1, client_version=2)
    harness.put(late)
    harness.next_producer_id = 8
    return harness


def test_loaded_shard_has_a_scan_for_timeouts_and_one_for_expired_ids() -> None:
    harness = TransactionHarness()

    assert harness.timers == {TIMEOUTS: NOW + SCAN_MS, EXPIRATION: NOW + 3_600_000}


def test_scan_is_repeated() -> None:
    harness = TransactionHarness()

    harness.advance(SCAN_MS)

    assert harness.timers[TIMEOUTS] == NOW + 2 * SCAN_MS


def test_timed_out_transaction_is_aborted_with_one_raise_of_the_epoch() -> None:
    harness = ongoing()

    harness.advance(SCAN_MS)

    assert harness.found().state is TransactionState.PREPARE_ABORT
    assert (harness.found().producer_epoch, harness.found().last_producer_epoch) == (6, 5)
    assert harness.markers[0].marker.producer_epoch == 6
    assert not harness.markers[0].marker.is_commit


@pytest.mark.parametrize("level", (0, 1))
def test_timed_out_transaction_is_fenced_before_version_2(level: int) -> None:
    harness = ongoing(level=level)

    harness.advance(SCAN_MS)

    assert (harness.found().producer_epoch, harness.found().client_version) == (6, 0)


def test_timed_out_transaction_gets_a_producer_id_when_its_epochs_are_exhausted() -> None:
    harness = ongoing(32_766)

    harness.advance(SCAN_MS)
    prepared = harness.found()
    harness.complete()

    assert (prepared.producer_id, prepared.producer_epoch) == (7, 32_767)
    assert prepared.next_producer == (8, 0)
    assert (harness.found().producer_id, harness.found().producer_epoch) == (8, 0)


def test_scan_leaves_a_transaction_without_a_producer_id_to_the_next_one() -> None:
    harness = ongoing(32_766)
    harness.allocation_error = CoordinatorLoadInProgressError("no ids")

    harness.advance(SCAN_MS)
    assert harness.found().state is TransactionState.ONGOING
    harness.allocation_error = None
    harness.advance(SCAN_MS)

    assert harness.found().state is TransactionState.PREPARE_ABORT


def test_producer_id_is_not_used_when_the_transaction_has_ended_meanwhile() -> None:
    harness = ongoing(32_766)
    outcome = harness.shard.on_timer(TIMEOUTS, NOW)
    (request,) = outcome.producer_id_requests
    harness.end((7, 32_766))

    late = request.allocated(99, NOW)

    assert late.records == []
    assert harness.found().next_producer_id == 8


def test_producer_id_is_not_used_when_the_next_transaction_has_begun_meanwhile() -> None:
    harness = ongoing(32_766)
    (request,) = harness.shard.on_timer(TIMEOUTS, NOW).producer_id_requests
    harness.end((7, 32_766))
    harness.complete()
    harness.init()
    harness.add((8, 1), ORDERS)

    assert request.allocated(99, NOW).records == []


@pytest.mark.parametrize(("level", "epoch"), ((2, 5), (1, 6)))
def test_rejected_abort_is_repeated_by_the_next_scan(level: int, epoch: int) -> None:
    harness = ongoing(level=level)
    harness.rejection = UNAVAILABLE

    harness.advance(SCAN_MS)
    assert harness.found().state is TransactionState.ONGOING
    assert harness.found().producer_epoch == epoch
    harness.rejection = None
    harness.advance(SCAN_MS)

    assert harness.found().state is TransactionState.PREPARE_ABORT
    assert harness.found().producer_epoch == 6


def test_scan_aborts_all_transactions_in_one_batch() -> None:
    harness = ongoing()
    harness.put(harness.found()._replace(transactional_id="other", partitions=frozenset()))
    before = len(harness.log)

    outcome = harness.shard.on_timer(TIMEOUTS, NOW)

    assert [each.transactional_id for each in outcome.completions] == [ID, "other"]
    assert len(outcome.records) == 2
    assert len(harness.log) == before


def test_scan_with_more_transactions_is_repeated_at_once() -> None:
    harness = ongoing()
    many = frozenset(tp(f"{'x' * 200}-{each}") for each in range(300))
    for number in range(3):
        harness.put(harness.found()._replace(transactional_id=str(number), partitions=many))

    outcome = harness.shard.on_timer(TIMEOUTS, NOW)

    assert len(outcome.records) == 2
    assert outcome.timers[0].at_ms == NOW


# -- expired ids


def test_expired_id_gets_a_tombstone() -> None:
    harness = TransactionHarness()
    harness.put(metadata())

    harness.advance(EXPIRATION_MS)

    assert harness.shard.transactions.get(ID) is None
    assert harness.log[-1][1] is None
    harness.reload()
    assert harness.shard.transactions.get(ID) is None


def test_expired_id_stays_when_its_tombstone_is_rejected() -> None:
    harness = TransactionHarness()
    harness.put(metadata())
    harness.rejection = UNAVAILABLE

    harness.advance(EXPIRATION_MS)

    assert harness.found() == metadata()
    assert harness.timers[EXPIRATION] == harness.now_ms + 3_600_000


def test_scan_for_expired_ids_is_repeated() -> None:
    harness = TransactionHarness()

    harness.advance(3_600_000)

    assert harness.timers[EXPIRATION] == NOW + 2 * 3_600_000


# -- complete


def prepared() -> TransactionHarness:
    harness = TransactionHarness()
    harness.put(metadata(TransactionState.PREPARE_COMMIT))
    return harness


def test_rejected_complete_record_is_written_again() -> None:
    harness = prepared()
    harness.rejection = UNAVAILABLE

    harness.complete()
    assert harness.found().state is TransactionState.PREPARE_COMMIT
    harness.rejection = None
    harness.advance(100)

    assert harness.found().state is TransactionState.COMPLETE_COMMIT


def test_complete_record_is_left_to_the_next_coordinator() -> None:
    harness = prepared()
    harness.rejection = NotCoordinatorError("another leader")

    harness.complete()

    assert set(harness.timers) == {TIMEOUTS, EXPIRATION}


def test_transaction_completes_once() -> None:
    harness = prepared()
    (completion,) = harness.markers
    first = harness.shard.complete_markers(*completion, now_ms=NOW)

    second = harness.shard.complete_markers(*completion, now_ms=NOW)

    assert len(first.records) == 1
    assert second.records == []


def test_unknown_timer_is_a_mistake() -> None:
    with pytest.raises(AssertionError):
        TransactionHarness().shard.on_timer(("other", ID), NOW)


def test_scan_that_only_waits_for_producer_ids_is_not_repeated_at_once() -> None:
    harness = ongoing(32_766)
    many = frozenset(tp(f"{'x' * 200}-{each}") for each in range(600))
    for number in range(3):
        harness.put(harness.found()._replace(transactional_id=str(number), partitions=many))

    outcome = harness.shard.on_timer(TIMEOUTS, NOW)

    assert outcome.records == []
    assert outcome.timers[0].at_ms == NOW + SCAN_MS


@pytest.mark.parametrize("epoch", (5, 32_766))
def test_timed_out_transaction_is_counted(epoch: int) -> None:
    harness = ongoing(epoch)

    harness.advance(SCAN_MS)

    assert harness.events == Counter([CoordinatorEvent.TRANSACTION_TIMED_OUT])
