"""Tests of the leader's view: ends that count, min.insync.replicas, changes of the ISR.

The transcripts in `tests/scripts/in_sync` show the transitions one after the other.
"""

from collections.abc import Mapping

import pytest

from cordwood.cluster.partition.in_sync_replicas import AlteredIsr, IsrProposal
from cordwood.cluster.partition.leader import (
    AssignedReplicas,
    LagCheck,
    Leader,
    ProposalOutcome,
)
from cordwood.core.errors import (
    ERRORS_BY_CODE,
    NotEnoughReplicasAfterAppendError,
    NotEnoughReplicasError,
)
from cordwood.core.types import LeaderEpoch, PartitionId, TopicName, TopicPartition

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))
ALL = (1, 2, 3)
#: The brokers with their epochs.
ALIVE = {1: 61, 2: 62, 3: 63, 4: 64}
EPOCHS = (-1, -1)
LAG_MS = 30_000


def leader(*isr: int, replicas: tuple[int, ...] = ALL, own_end: int = 10) -> Leader:
    made = Leader(
        1,
        LeaderEpoch(4),
        assigned=AssignedReplicas(replicas, isr or replicas, 7),
        epoch_start=5,
        now_ms=0,
    )
    made.advance_own_end(own_end)
    return made


def fetch(of: Leader, replica_id: int, offset: int, *, now_ms: float = 0, end: int = 10) -> None:
    replica = of.replica(replica_id)
    assert replica is not None
    replica.record_fetch(offset, leader_end=end, now_ms=now_ms)


def at(now_ms: float, *, eligible: Mapping[int, int] = ALIVE, end: int = 10) -> LagCheck:
    return LagCheck(now_ms, end, LAG_MS, eligible)


def expansion(
    of: Leader, replica_id: int = 2, *, eligible: Mapping[int, int] = ALIVE
) -> IsrProposal:
    proposal = of.propose_expansion(replica_id, high_watermark=8, eligible=eligible)
    assert proposal is not None
    return proposal


# -- ends


def test_committed_end_is_the_smallest_end_of_the_in_sync_replicas() -> None:
    of_all, of_two = leader(), leader(1, 2)
    for each in (of_all, of_two):
        fetch(each, 2, 7)
        fetch(each, 3, 5)

    assert (of_all.committed_end(1), of_two.committed_end(1)) == (5, 7)


def test_replica_that_has_not_fetched_in_this_epoch_holds_the_committed_end() -> None:
    assert leader(1, 2).committed_end(1) == -1


def test_in_sync_broker_that_is_not_assigned_holds_the_committed_end() -> None:
    assert leader(1, 4, replicas=(1, 2)).committed_end(1) == -1


def test_own_end_limits_the_committed_end_and_never_falls() -> None:
    alone = leader(1, replicas=(1,), own_end=3)

    alone.advance_own_end(8)
    alone.advance_own_end(5)

    assert alone.committed_end(1) == 8


def test_nothing_is_committed_with_too_few_in_sync_replicas() -> None:
    assert leader(1).committed_end(2) is None
    assert leader(1).committed_end(1) == 10


def test_pending_expansion_holds_the_committed_end() -> None:
    of = leader(1)
    fetch(of, 2, 8)

    expansion(of)

    assert of.committed_end(1) == 8


def test_pending_shrink_still_holds_the_committed_end() -> None:
    of = leader(1, 2)
    fetch(of, 2, 6)

    assert of.propose_shrink(at(LAG_MS + 1)) is not None
    assert of.committed_end(1) == 6


def test_follower_that_is_caught_up_and_eligible_holds_the_committed_end() -> None:
    of = leader(1)
    fetch(of, 2, 8, now_ms=0, end=8)

    assert of.committed_end(1, check=at(LAG_MS)) == 8
    assert of.committed_end(1, check=at(LAG_MS + 1)) == 10
    assert of.committed_end(1, check=at(LAG_MS, eligible={1: 61, 3: 63})) == 10
    assert of.committed_end(1) == 10


def test_broker_that_is_not_assigned_is_not_a_replica() -> None:
    assert leader().replica(4) is None


# -- min.insync.replicas


def test_topic_never_requires_more_replicas_than_exist() -> None:
    assert not leader(1, replicas=(1,)).is_under_min_isr(2)
    assert leader(1, replicas=(1, 2)).is_under_min_isr(2)


def test_append_is_rejected_before_its_write_by_the_committed_isr() -> None:
    of = leader(1)
    fetch(of, 2, 8)
    expansion(of)

    with pytest.raises(NotEnoughReplicasError, match="orders-0: 1 replicas are in sync"):
        of.ensure_min_isr(ORDERS, 2)
    of.ensure_min_isr(ORDERS, 1)


def test_append_fails_after_its_write_by_the_maximal_isr() -> None:
    of = leader(1)
    fetch(of, 2, 8)

    error = of.error_after_append(ORDERS, 2)
    expansion(of)

    assert isinstance(error, NotEnoughReplicasAfterAppendError)
    assert of.error_after_append(ORDERS, 2) is None


# -- proposals


def test_follower_joins_at_the_high_watermark_and_the_start_of_the_epoch() -> None:
    of = leader(1)
    fetch(of, 2, 7)

    assert of.propose_expansion(2, high_watermark=8, eligible=ALIVE) is None
    assert of.propose_expansion(2, high_watermark=7, eligible=ALIVE) == (4, 7, (1, 2), EPOCHS)


def test_follower_below_the_start_of_the_epoch_does_not_join() -> None:
    of = leader(1)
    fetch(of, 2, 4)

    assert of.propose_expansion(2, high_watermark=0, eligible=ALIVE) is None


@pytest.mark.parametrize("replica_id", (1, 3, 4))
def test_only_an_eligible_follower_outside_the_isr_joins(replica_id: int) -> None:
    of = leader(1)
    fetch(of, 2, 10)
    fetch(of, 3, 10)

    assert (
        of.propose_expansion(replica_id, high_watermark=8, eligible={1: 61, 2: 62, 4: 64}) is None
    )


@pytest.mark.parametrize(
    ("fetched_with", "alive_with", "joins"),
    ((62, 62, True), (62, 65, False), (-1, 65, True), (62, -1, True)),
)
def test_follower_joins_in_the_registration_of_its_last_fetch(
    fetched_with: int, alive_with: int, *, joins: bool
) -> None:
    of = leader(1)
    replica = of.replica(2)
    assert replica is not None
    replica.record_fetch(10, leader_end=10, now_ms=0, broker_epoch=fetched_with)

    proposal = of.propose_expansion(2, high_watermark=8, eligible={2: alive_with})

    assert proposal == ((4, 7, (1, 2), (-1, fetched_with)) if joins else None)


def test_follower_of_an_earlier_registration_does_not_hold_the_committed_end() -> None:
    of = leader(1)
    replica = of.replica(2)
    assert replica is not None
    replica.record_fetch(8, leader_end=8, now_ms=0, broker_epoch=62)

    assert of.committed_end(1, check=at(0, eligible={2: 62})) == 8
    assert of.committed_end(1, check=at(0, eligible={2: 65})) == 10


def test_answer_counts_if_the_follower_has_registered_again_since_the_proposal() -> None:
    of = leader(1)
    fetch(of, 2, 8)
    proposal = expansion(of)
    replica = of.replica(2)
    assert replica is not None
    replica.record_fetch(8, leader_end=8, now_ms=0, broker_epoch=65)

    assert of.complete(proposal, 107) is ProposalOutcome.REVERTED


def test_in_sync_follower_does_not_join_again() -> None:
    of = leader()
    fetch(of, 2, 10)

    assert of.propose_expansion(2, high_watermark=8, eligible=ALIVE) is None


def test_one_change_is_pending_at_a_time() -> None:
    of = leader(1, 3)
    fetch(of, 2, 10)

    expansion(of)

    assert of.propose_expansion(2, high_watermark=8, eligible=ALIVE) is None
    assert of.propose_shrink(at(LAG_MS + 1)) is None


def test_shrink_removes_all_followers_that_are_out_of_sync_and_never_the_leader() -> None:
    of = leader()
    fetch(of, 2, 10, now_ms=0)

    assert of.propose_shrink(at(LAG_MS)) is None
    assert of.propose_shrink(at(LAG_MS + 1)) == (4, 7, (1, 2), EPOCHS)


def test_shrink_removes_a_broker_that_is_not_assigned() -> None:
    of = leader(1, 4, replicas=(1,))

    assert of.propose_shrink(at(0)) == (4, 7, (1,), (-1,))


# -- answers


def test_success_commits_the_state_of_the_controller() -> None:
    of = leader(1)
    fetch(of, 2, 8)

    outcome = of.complete(expansion(of), AlteredIsr(4, 8, (1, 2)))

    assert outcome is ProposalOutcome.COMMITTED
    assert (of.isr, of.partition_epoch, of.pending) == ((1, 2), 8, None)


def test_success_without_a_change_commits_the_state_that_the_controller_has() -> None:
    of = leader(1)
    fetch(of, 2, 8)

    outcome = of.complete(expansion(of), AlteredIsr(4, 7, (1, 2)))

    assert (outcome, of.isr) == (ProposalOutcome.COMMITTED, (1, 2))


@pytest.mark.parametrize("answer", (AlteredIsr(5, 8, (1, 2)), AlteredIsr(4, 6, (1, 2))))
def test_success_of_another_epoch_is_ignored(answer: AlteredIsr) -> None:
    of = leader(1)
    fetch(of, 2, 8)

    assert of.complete(expansion(of), answer) is ProposalOutcome.IGNORED
    assert of.maximal_isr == (1, 2)
    assert of.isr == (1,)


def test_every_error_keeps_reverts_or_retries_the_change() -> None:
    outcomes = dict[ProposalOutcome, list[int]]()
    for code in ERRORS_BY_CODE:
        of = leader(1)
        fetch(of, 2, 8)
        outcome = of.complete(expansion(of), code)
        outcomes.setdefault(outcome, []).append(code)
        assert (of.pending is None) is (outcome is ProposalOutcome.REVERTED)

    assert outcomes[ProposalOutcome.REVERTED] == [55, 107]
    assert outcomes[ProposalOutcome.AWAITS_STATE] == [3, 42, 74, 95, 100, 108]
    assert set(outcomes) == {*ProposalOutcome} - {
        ProposalOutcome.COMMITTED,
        ProposalOutcome.IGNORED,
    }


def test_answer_to_an_earlier_proposal_is_ignored() -> None:
    of = leader(1)
    fetch(of, 2, 8)
    proposal = expansion(of)

    assert of.update(AssignedReplicas(ALL, (1, 3), 8))

    assert of.complete(proposal, AlteredIsr(4, 9, (1, 2))) is ProposalOutcome.IGNORED
    assert (of.isr, of.partition_epoch) == ((1, 3), 8)


def test_answer_is_one_to_the_proposal_with_its_partition_epoch() -> None:
    of = leader(1)
    fetch(of, 2, 8)
    proposal = expansion(of)
    of.update(AssignedReplicas(ALL, (1,), 8))
    expansion(of)

    assert of.complete(proposal, 55) is ProposalOutcome.IGNORED
    assert of.pending is not None


# -- states of the partition


def test_older_state_is_not_used() -> None:
    of = leader(1)

    assert not of.update(AssignedReplicas((1,), (1, 2), 6))
    assert of.isr == (1,)
    assert of.replica(2) is not None


def test_repeated_state_does_not_end_a_pending_change() -> None:
    of = leader(1)
    fetch(of, 2, 8)
    expansion(of)

    assert of.update(AssignedReplicas((1, 2), (1,), 7))
    assert of.maximal_isr == (1, 2)
    assert of.replica(3) is None


def test_new_state_ends_a_pending_change_and_keeps_the_followers_ends() -> None:
    of = leader(1)
    fetch(of, 2, 8)
    expansion(of)

    assert of.update(AssignedReplicas(ALL, (1, 2), 8))
    assert (of.pending, of.committed_end(1)) == (None, 8)


def test_new_follower_is_unknown_until_it_fetches() -> None:
    of = leader(1, replicas=(1,))

    of.update(AssignedReplicas((1, 2), (1, 2), 8))

    assert of.committed_end(1) == -1


def test_text_of_a_leader_has_its_state() -> None:
    assert "epoch=4" in repr(leader(1))
