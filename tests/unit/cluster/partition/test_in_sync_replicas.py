"""Tests of the three states of the in-sync replicas."""

from cordwood.cluster.partition.in_sync_replicas import (
    CommittedIsr,
    PendingExpandIsr,
    PendingShrinkIsr,
)

COMMITTED = CommittedIsr((1, 3), 7)


def test_committed_replicas_are_the_maximal_ones() -> None:
    assert COMMITTED.maximal_isr == COMMITTED.isr == (1, 3)


def test_expansion_is_in_the_maximal_isr_and_not_yet_in_sync() -> None:
    pending = PendingExpandIsr(2, COMMITTED)

    assert (pending.isr, pending.maximal_isr, pending.proposed_isr) == (
        (1, 3),
        (1, 3, 2),
        (1, 3, 2),
    )


def test_shrink_keeps_the_replicas_until_it_is_committed() -> None:
    pending = PendingShrinkIsr(frozenset({1}), COMMITTED)

    assert (pending.isr, pending.maximal_isr, pending.proposed_isr) == ((1, 3), (1, 3), (3,))
