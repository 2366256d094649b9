"""Recovery of a transaction shard in every state, and events of earlier coordinators."""

import pytest

from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_outcome import TransactionOutcome
from cordwood.coordination.transactions.transaction_settings import TransactionSettings
from cordwood.coordination.transactions.transaction_state import TransactionState
from tests.unit.coordination.transaction_samples import (
    ID,
    NOW,
    Producer,
    TransactionHarness,
    metadata,
)

PREPARED = [TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT]
OTHERS = [
    TransactionState.EMPTY,
    TransactionState.ONGOING,
    TransactionState.COMPLETE_COMMIT,
    TransactionState.COMPLETE_ABORT,
]


def in_state(found: TransactionMetadata, *, level: int = 2) -> TransactionHarness:
    """Return a shard that an earlier coordinator left with an id; the next producer id is 8."""
    harness = TransactionHarness(TransactionSettings(transaction_version=level))
    harness.put(found)
    harness.next_producer_id = 8
    return harness


@pytest.mark.parametrize("state", PREPARED)
def test_loaded_shard_resumes_the_markers_of_a_decided_end(state: TransactionState) -> None:
    found = metadata(state, (7, 6))._replace(client_version=2)

    harness = in_state(found)

    (completion,) = harness.markers
    assert completion.transactional_id == ID
    assert completion.marker.producer_epoch == 6
    assert completion.marker.coordinator_epoch == harness.coordinator_epoch
    assert completion.marker.transaction_version == 2
    assert completion.marker.is_commit is (state is TransactionState.PREPARE_COMMIT)


@pytest.mark.parametrize("state", OTHERS)
def test_loaded_shard_has_nothing_to_resume_otherwise(state: TransactionState) -> None:
    harness = in_state(metadata(state))

    assert harness.markers == []
    assert harness.found() == metadata(state)


@pytest.mark.parametrize("level", (0, 2))
@pytest.mark.parametrize("commit", (True, False))
def test_answered_end_is_completed_after_a_kill_before_the_first_marker(
    level: int, *, commit: bool
) -> None:
    harness = in_state(metadata(TransactionState.ONGOING), level=level)
    version = 5 if level else 4
    assert harness.end((7, 5), commit=commit, version=version).code == 0
    epoch = harness.found().producer_epoch

    harness.reload()
    harness.complete()

    expected = TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
    assert (harness.found().state, harness.found().producer_epoch) == (expected, epoch)


@pytest.mark.parametrize("commit", (True, False))
def test_markers_are_written_again_after_a_kill_before_the_complete_record(*, commit: bool) -> None:
    harness = in_state(metadata(TransactionState.ONGOING))
    harness.end((7, 5), commit=commit)
    (before,) = harness.markers

    harness.reload()
    (after,) = harness.markers

    assert after.marker == before.marker._replace(
        coordinator_epoch=before.marker.coordinator_epoch + 1
    )


def test_rotation_is_completed_after_a_kill() -> None:
    harness = in_state(metadata(TransactionState.ONGOING, (7, 32_766)))
    assert harness.end((7, 32_766)) == Producer(0, 8, 0)

    harness.reload()
    harness.complete()

    assert (harness.found().producer_id, harness.found().producer_epoch) == (8, 0)
    assert harness.end((7, 32_766)) == Producer(0, 8, 0)


def test_markers_of_an_earlier_coordinator_complete_nothing() -> None:
    harness = in_state(metadata(TransactionState.ONGOING))
    harness.end((7, 5))
    (old,) = harness.markers
    harness.reload()

    harness.perform(harness.shard.complete_markers(*old, now_ms=NOW))

    assert harness.found().state is TransactionState.PREPARE_COMMIT


def test_markers_of_an_earlier_transaction_complete_nothing() -> None:
    harness = in_state(metadata(TransactionState.ONGOING))
    harness.end((7, 5))
    (old,) = harness.markers
    harness.complete()
    assert harness.shard.complete_markers(*old, now_ms=NOW) == TransactionOutcome()
    harness.end((7, 6), commit=False)

    assert harness.shard.complete_markers(*old, now_ms=NOW) == TransactionOutcome()


def test_last_epoch_is_forgotten_by_a_reload() -> None:
    harness = TransactionHarness()
    harness.init()
    harness.init(expected=(0, 0))

    harness.reload()

    assert harness.init(expected=(0, 0)) == Producer(90)
