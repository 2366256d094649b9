"""Replicas agree below their high watermarks, and keep what was acknowledged, in any history.

The decisions of `cluster.partition` run on two or three brokers with a controller: see
`replica_world`. Responses and states are lost, late and repeated; brokers lose their sessions, or
crash and lose the end of their log. After each step every acknowledged record is on all in-sync
replicas, and any two logs are equal below both high watermarks. Mistakes that are planted in the
decisions are found, so the checks bite.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordwood.cluster.partition.in_sync_replicas import CommittedIsr, IsrProposal
from cordwood.cluster.partition.leader import AssignedReplicas, LagCheck, Leader
from cordwood.core.types import LeaderEpoch
from cordwood.testing.seeded_random import SeededRandom
from tests.unit.cluster.partition.memory_replicas import TruncationRule
from tests.unit.cluster.partition.replica_world import ACTIONS, FREQUENT, ReplicaWorld

STEPS = 400
SEEDS_OF_A_RUN = 100
SEEDS_OF_A_MISTAKE = 1_000
KINDS = {
    "acknowledged",
    "awaits state",
    "committed",
    "crashes",
    "elections",
    "expansions",
    "expired",
    "fenced",
    "ignored",
    "lost ends",
    "reverted",
    "shrinks",
    "truncations",
}

History = Sequence[tuple[str, int]]
MakeWorld = Callable[[int, int], ReplicaWorld]


def world(size: int, min_isr: int) -> ReplicaWorld:
    return ReplicaWorld(size=size, min_isr=min_isr)


def run(made: ReplicaWorld, history: History) -> ReplicaWorld:
    """Perform a history, and check after each step."""
    for action, number in history:
        made.act(action, number)
        made.check()
    return made


def run_seed(seed: int, make: MakeWorld = world) -> ReplicaWorld:
    """Perform the history of a seed."""
    chance = SeededRandom(seed)
    made = make(2 + chance.below(2), 1 + chance.below(2))
    history = ((FREQUENT[chance.below(len(FREQUENT))], chance.below(1_000)) for _ in range(STEPS))
    return run(made, [*history])


def run_seeds(seeds: Iterable[int], make: MakeWorld = world) -> Counter[str]:
    """Perform the histories of seeds, and count their events."""
    counts = Counter[str]()
    for seed in seeds:
        counts.update(run_seed(seed, make).counts)
    return counts


@given(
    rule=st.sampled_from((TruncationRule.ON_FETCH, TruncationRule.BY_QUESTION)),
    size=st.integers(2, 3),
    min_isr=st.integers(1, 2),
    history=st.lists(st.tuples(st.sampled_from([*ACTIONS]), st.integers(0, 999)), max_size=200),
)
def test_replicas_agree_and_keep_acknowledged_records(
    rule: TruncationRule, size: int, min_isr: int, history: History
) -> None:
    run(ReplicaWorld(size=size, min_isr=min_isr, rule=rule), history)


def test_seeded_histories_agree_and_contain_every_kind_of_event() -> None:
    counts = run_seeds(range(SEEDS_OF_A_RUN))

    assert set(counts) == KINDS


# -- planted mistakes


class PendingFollowerDoesNotCount(Leader):
    """A leader whose high watermark does not wait for a follower that is being added."""

    __slots__ = ()

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        return self.isr


class ShrinkCountsAtOnce(Leader):
    """A leader whose high watermark does not wait for a follower that is being removed."""

    __slots__ = ()

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        return self.isr if self.pending is None else self.pending.proposed_isr


class FollowerJoinsBelowTheEpochStart(Leader):
    """A leader whose followers join by the high watermark alone."""

    __slots__ = ()

    def __init__(
        self,
        node_id: int,
        epoch: LeaderEpoch,
        *,
        assigned: AssignedReplicas,
        epoch_start: int,
        now_ms: float,
    ) -> None:
        super().__init__(node_id, epoch, assigned=assigned, epoch_start=0, now_ms=now_ms)


class FollowerJoinsBelowTheHighWatermark(Leader):
    """A leader whose followers join at the start of the epoch."""

    __slots__ = ()

    def propose_expansion(
        self,
        replica_id: int,
        *,
        high_watermark: int,
        eligible: Mapping[int, int],
    ) -> IsrProposal | None:
        return super().propose_expansion(replica_id, high_watermark=0, eligible=eligible)


class RepeatedStateEndsAChange(Leader):
    """A leader that gives up a pending change for a state that it has already."""

    __slots__ = ()

    def update(self, assigned: AssignedReplicas) -> bool:
        is_used = super().update(assigned)
        if is_used:
            self._in_sync = CommittedIsr(assigned.isr, assigned.partition_epoch)
        return is_used


class AcknowledgesAlone(Leader):
    """A leader that counts a record as soon as it has it."""

    __slots__ = ()

    def committed_end(
        self,
        min_insync_replicas: int,
        *,
        check: LagCheck | None = None,
    ) -> int | None:
        return self.own_end


def with_leader(leader: type[Leader]) -> MakeWorld:
    return lambda size, min_isr: ReplicaWorld(size=size, min_isr=min_isr, new_leader=leader)


def with_rule(rule: TruncationRule) -> MakeWorld:
    return lambda size, min_isr: ReplicaWorld(size=size, min_isr=min_isr, rule=rule)


def without_broker_epochs(size: int, min_isr: int) -> ReplicaWorld:
    return ReplicaWorld(size=size, min_isr=min_isr, checks_broker_epochs=False)


@pytest.mark.parametrize(
    "make",
    (
        pytest.param(with_rule(TruncationRule.HIGH_WATERMARK), id="truncates to high watermark"),
        pytest.param(with_rule(TruncationRule.END_ALONE), id="answers without epochs"),
        pytest.param(without_broker_epochs, id="broker epochs are not compared"),
        *(
            pytest.param(with_leader(each), id=each.__name__)
            for each in (
                PendingFollowerDoesNotCount,
                ShrinkCountsAtOnce,
                FollowerJoinsBelowTheEpochStart,
                FollowerJoinsBelowTheHighWatermark,
                RepeatedStateEndsAChange,
                AcknowledgesAlone,
            )
        ),
    ),
)
def test_planted_mistake_is_found(make: MakeWorld) -> None:
    with pytest.raises(AssertionError, match=r"in-sync replica|differ"):
        run_seeds(range(SEEDS_OF_A_MISTAKE), make)
