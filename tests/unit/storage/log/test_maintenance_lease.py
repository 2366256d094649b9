"""The maintenance lease allows one holder, and rejects every other transition."""

import pytest

from cordwood.storage.log.maintenance_lease import FREE, LeaseError, LeaseStage, MaintenanceLease

CLEANING = FREE.take(LeaseStage.CLEANING, "cleaner")
ABORTING = CLEANING.abort()
PAUSED = FREE.pause("truncation")


@pytest.mark.parametrize("stage", (LeaseStage.RETENTION, LeaseStage.CLEANING))
def test_lease_is_free_again_when_the_work_is_done(stage: LeaseStage) -> None:
    taken = FREE.take(stage, "worker")

    assert taken.stage == stage
    assert taken.holder == "worker"
    assert not taken.is_free
    assert taken.is_held
    assert not taken.is_revoked
    assert taken.release("worker") == FREE


@pytest.mark.parametrize("lease", (CLEANING, ABORTING, PAUSED))
def test_lease_that_is_not_free_cannot_be_acquired(lease: MaintenanceLease) -> None:
    with pytest.raises(LeaseError, match="cannot be taken for retention by worker"):
        lease.take(LeaseStage.RETENTION, "worker")


@pytest.mark.parametrize("stage", (LeaseStage.FREE, LeaseStage.ABORTING, LeaseStage.PAUSED))
def test_lease_cannot_be_acquired_for_another_stage(stage: LeaseStage) -> None:
    with pytest.raises(LeaseError, match="cannot be taken"):
        FREE.take(stage, "worker")


@pytest.mark.parametrize(("lease", "holder"), ((FREE, "cleaner"), (CLEANING, "other")))
def test_lease_cannot_be_released_by_another_holder(lease: MaintenanceLease, holder: str) -> None:
    with pytest.raises(LeaseError, match=f"cannot be released by {holder}"):
        lease.release(holder)


def test_lease_is_free_again_when_aborted_work_has_stopped() -> None:
    assert ABORTING.is_revoked
    assert ABORTING.is_held
    assert ABORTING.abort() == ABORTING
    assert ABORTING.release("cleaner") == FREE


@pytest.mark.parametrize("lease", (FREE, PAUSED))
def test_abort_without_a_holder_has_no_effect(lease: MaintenanceLease) -> None:
    assert lease.abort() == lease


def test_pause_stops_the_work_and_blocks_the_lease() -> None:
    stopping = CLEANING.pause("truncation")
    stopped = stopping.release("cleaner")

    assert stopping.is_revoked
    assert stopped == PAUSED
    assert not stopped.is_held
    assert stopped.resume("truncation") == FREE


def test_pauses_count() -> None:
    twice = PAUSED.pause("deletion")

    once = twice.resume("truncation")

    assert once.stage is LeaseStage.PAUSED
    assert once.pausers == ("deletion",)
    assert once.resume("deletion") == FREE


def test_resume_does_not_restore_revoked_work() -> None:
    resumed = CLEANING.pause("truncation").resume("truncation")

    assert resumed == ABORTING


@pytest.mark.parametrize("lease", (FREE, CLEANING, ABORTING, PAUSED))
def test_resume_is_rejected_when_there_was_no_pause(lease: MaintenanceLease) -> None:
    with pytest.raises(LeaseError, match="cannot be resumed by deletion"):
        lease.resume("deletion")


@pytest.mark.parametrize(
    ("lease", "text"),
    (
        (FREE, "free"),
        (CLEANING, "cleaning by cleaner"),
        (
            CLEANING.pause("truncation").pause("deletion"),
            "aborting by cleaner, paused by truncation, deletion",
        ),
    ),
)
def test_lease_shows_its_holder(lease: MaintenanceLease, text: str) -> None:
    assert str(lease) == text
