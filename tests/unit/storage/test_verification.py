"""Guards of transactions that wait for their coordinator."""

import pytest

from cordwood.storage.verification import VerificationGuard, Verifications


def start(verifications: Verifications, sequence: int, epoch: int = 0) -> VerificationGuard:
    return verifications.start(1, sequence=sequence, epoch=epoch, now_ms=0)


def test_guard_stays_the_same_until_it_is_cleared() -> None:
    verifications = Verifications()

    first, second = start(verifications, 0), start(verifications, 5)
    verifications.clear(1)
    third = start(verifications, 0)

    assert first is second
    assert third is not first
    assert not verifications.is_guarded_by(1, first)
    assert verifications.is_guarded_by(1, third)


def test_guard_is_nobodys_when_the_producer_has_no_entry() -> None:
    verifications = Verifications()
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
    verifications = Verifications()
    start(verifications, 5, epoch=1)

    start(verifications, sequence, epoch=epoch)

    entry = verifications.get(1)
    assert entry is not None
    assert (entry.lowest_sequence, entry.epoch) == (lowest, max(1, epoch))


def test_entry_expires_when_nothing_came_of_it() -> None:
    verifications = Verifications()
    guard = start(verifications, 0)

    verifications.expire(99, after_ms=100)
    early = verifications.is_guarded_by(1, guard)
    verifications.expire(100, after_ms=100)

    assert early
    assert not verifications.is_guarded_by(1, guard)
