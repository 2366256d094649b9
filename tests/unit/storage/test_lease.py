"""Who may work on a log, and every move that the lease refuses."""

import pytest

from cordwood.storage.lease import FREE, Lease, LeaseError, Stage

CLEANING = FREE.take(Stage.CLEANING, "cleaner")
ABORTING = CLEANING.abort()
PAUSED = FREE.pause("truncation")


@pytest.mark.parametrize("stage", (Stage.RETENTION, Stage.CLEANING))
def test_lease_is_free_again_when_the_work_is_done(stage: Stage) -> None:
    taken = FREE.take(stage, "worker")

    assert (taken.stage, taken.holder, taken.is_free) == (stage, "worker", False)
    assert taken.is_held
    assert not taken.is_revoked
    assert taken.release("worker") == FREE


@pytest.mark.parametrize("lease", (CLEANING, ABORTING, PAUSED))
def test_lease_cannot_be_taken_when_it_is_not_free(lease: Lease) -> None:
    with pytest.raises(LeaseError, match="cannot be taken for retention by worker"):
        lease.take(Stage.RETENTION, "worker")


@pytest.mark.parametrize("stage", (Stage.FREE, Stage.ABORTING, Stage.PAUSED))
def test_lease_cannot_be_taken_for_what_is_no_work(stage: Stage) -> None:
    with pytest.raises(LeaseError, match="cannot be taken"):
        FREE.take(stage, "worker")


@pytest.mark.parametrize(("lease", "holder"), ((FREE, "cleaner"), (CLEANING, "other")))
def test_lease_cannot_be_released_by_who_does_not_hold_it(lease: Lease, holder: str) -> None:
    with pytest.raises(LeaseError, match=f"cannot be released by {holder}"):
        lease.release(holder)


def test_lease_is_free_again_when_aborted_work_has_stopped() -> None:
    assert ABORTING.is_revoked
    assert ABORTING.is_held
    assert ABORTING.abort() == ABORTING
    assert ABORTING.release("cleaner") == FREE


@pytest.mark.parametrize("lease", (FREE, PAUSED))
def test_abort_does_nothing_when_nobody_is_at_work(lease: Lease) -> None:
    assert lease.abort() == lease


def test_pause_stops_the_work_and_keeps_others_away() -> None:
    stopping = CLEANING.pause("truncation")
    stopped = stopping.release("cleaner")

    assert stopping.is_revoked
    assert stopped == PAUSED
    assert not stopped.is_held
    assert stopped.resume("truncation") == FREE


def test_pauses_count() -> None:
    twice = PAUSED.pause("deletion")

    once = twice.resume("truncation")

    assert once.stage is Stage.PAUSED
    assert once.pausers == ("deletion",)
    assert once.resume("deletion") == FREE


def test_resume_does_not_bring_back_work_that_was_asked_to_stop() -> None:
    resumed = CLEANING.pause("truncation").resume("truncation")

    assert resumed == ABORTING


@pytest.mark.parametrize("lease", (FREE, CLEANING, ABORTING, PAUSED))
def test_resume_is_refused_when_there_was_no_pause(lease: Lease) -> None:
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
def test_lease_says_who_holds_it(lease: Lease, text: str) -> None:
    assert str(lease) == text
