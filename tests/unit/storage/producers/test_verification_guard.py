"""Verification guards are created, cleared and expired."""

import pytest

from cordwood.storage.producers.verification_guard import VerificationGuard, VerificationStates


def start(verifications: VerificationStates, sequence: int, epoch: int = 0) -> VerificationGuard:
    return verifications.start(1, sequence=sequence, epoch=epoch, now_ms=0)


def test_guard_stays_the_same_until_it_is_cleared() -> None:
    verifications = VerificationStates()

    first, second = start(verifications, 0), start(verifications, 5)
    verifications.clear(1)
    third = start(verifications, 0)

    assert first is second
    assert third is not first
    assert not verifications.is_guarded_by(1, first)
    assert verifications.is_guarded_by(1, third)


def test_guard_is_invalid_when_the_producer_has_no_entry() -> None:
    verifications = VerificationStates()
    verifications.clear(1)

    assert verifications.get(1) is None
    assert not verifications.is_guarded_by(1, VerificationGuard())
    assert not verifications.is_guarded_by(1, None)


@pytest.mark.parametrize(
    ("sequence", "epoch", "lowest"), ((7, 1, 5), (3, 1, 3), (9, 2, 9), (2, 0, 5))
)
def test_entry_keeps_the_lowest_sequence_of_the_highest_epoch(
    sequence: int, epoch: int, lowest: int
) -> None:
    verifications = VerificationStates()
    start(verifications, 5, epoch=1)

    start(verifications, sequence, epoch=epoch)

    entry = verifications.get(1)
    assert entry is not None
    assert entry.lowest_sequence == lowest
    assert entry.epoch == max(1, epoch)


def test_entry_expires_when_it_is_not_verified() -> None:
    verifications = VerificationStates()
    guard = start(verifications, 0)

    verifications.expire(99, after_ms=100)
    early = verifications.is_guarded_by(1, guard)
    verifications.expire(100, after_ms=100)

    assert early
    assert not verifications.is_guarded_by(1, guard)
