"""Every controller continues where the former one ended, and the cluster converges.

The store of the simulation checks each leadership: a leader epoch has one leader and never falls.
A leader was in sync, unless its topic allows unclean ones. The in-sync set is never empty.

At rest each live broker has the newest leadership of each of its replicas, and no other replica.
Each partition with a live in-sync replica has a live leader, and no deleted topic is left.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.cluster.controller import (
    broker_changes,
    failover,
    leadership_updates,
    partition_state_machine,
    reassignments,
    replica_state_machine,
)
from cordwood.cluster.controller.context.cluster_context import ClusterContext
from cordwood.cluster.controller.context.leadership import NO_LEADER, Leadership
from cordwood.cluster.controller.effects import Flow, LeadershipWrites
from cordwood.cluster.controller.leader_election import Election
from cordwood.cluster.controller.leadership_updates import Leaderships
from cordwood.cluster.controller.requests import in_sync_updates
from cordwood.core.types import TopicPartition
from tests.properties.controller_simulation import KINDS, Step, run, seeded_steps
from tests.unit.cluster.controller.store_model import StoreModel

IS_SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
STEPS: Final = st.lists(
    st.builds(
        Step,
        kind=st.sampled_from(KINDS),
        seed=st.integers(0, 1 << 16),
        crash_after=st.none() | st.integers(0, 12),
        is_overtaken=st.booleans(),
    ),
    max_size=40,
)


#: Histories that have failed once.
HISTORIES: Final[Mapping[str, Sequence[Step]]] = {
    "a leader stores that the target of a reassignment is not in sync": (
        Step("create", 19826),
        Step("deliver", 32233),
        Step("alter_in_store", 51627),
        Step("request_reassignment", 11355),
    ),
    "the same, and controllers end": (
        Step("create", 19826),
        Step("deliver", 32233, crash_after=2),
        Step("alter_in_store", 51627),
        Step("request_reassignment", 11355, is_overtaken=True),
    ),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_cluster_converges_after_a_history_that_has_failed(name: str) -> None:
    run(HISTORIES[name])


@given(STEPS)
@settings(max_examples=20_000 if IS_SOAK else 200, deadline=None, derandomize=not IS_SOAK)
def test_cluster_converges_after_drawn_steps(steps: list[Step]) -> None:
    run(steps)


def test_cluster_converges_after_random_steps() -> None:
    counts = _run_seeds(20_000 if IS_SOAK else 300)

    ends = ("ControllerCrashedError", "StaleControllerEpochError")
    assert all(counts[each] for each in (*KINDS, *ends)), counts


def _nothing(*_: object, **__: object) -> Flow[dict[object, object]]:
    yield from ()
    return {}


def _always(*_: object, **__: object) -> bool:
    return True


def _never(*_: object, **__: object) -> bool:
    return False


def _elect_any(
    context: ClusterContext, partition: TopicPartition, *, leadership: Leadership, **_: object
) -> Election:
    replicas = context.assignment(partition).replicas
    online = [each for each in replicas if context.is_online(each, partition)]
    if not online:
        return Election(None, online)
    return Election(leadership.next_epoch(leader=online[0], isr=leadership.isr), online)


def _without_last(leadership: Leadership, replica: int) -> Leadership:
    leader = NO_LEADER if replica == leadership.leader else leadership.leader
    isr = tuple(each for each in leadership.isr if each != replica)
    return leadership.next_epoch(leader=leader, isr=isr)


def _in_the_same_epoch(leadership: Leadership, **changes: object) -> Leadership:
    return Leadership(**{**leadership._asdict(), **changes})


_write_leaderships: Final = leadership_updates.write_leaderships


def _write_once(context: ClusterContext, leaderships: Leaderships) -> Flow[LeadershipWrites]:
    writes = yield from _write_leaderships(context, leaderships)
    return replace(writes, conflicts=())


class Mistake(NamedTuple):
    """An attribute of a module or a class, and what a mistake would make of it."""

    owner: object
    name: str
    replacement: Callable[..., object]


MISTAKES: Final[Mapping[str, Mistake]] = {
    "a reassignment completes before its target is in sync": Mistake(
        reassignments, "is_complete", _always
    ),
    "a reassignment completes although a leader has stored a smaller in-sync set": Mistake(
        reassignments, "_is_led_by_target", _always
    ),
    "an update does not complete a reassignment": Mistake(
        in_sync_updates, "complete_reassignments", _nothing
    ),
    "a fail-over does not resume reassignments": Mistake(
        failover, "resume_reassignments", _nothing
    ),
    "a leader is elected that is not in sync": Mistake(
        partition_state_machine, "elect", _elect_any
    ),
    "an election keeps the leader epoch": Mistake(Leadership, "next_epoch", _in_the_same_epoch),
    "the last in-sync replica is removed": Mistake(Leadership, "without", _without_last),
    "a broker that goes stays in sync": Mistake(
        replica_state_machine, "update_leaderships", _nothing
    ),
    "a fail-over does not start the replicas": Mistake(failover, "start_replica_states", _nothing),
    "a fail-over elects no leaders": Mistake(
        partition_state_machine, "elect_missing_leaders", _nothing
    ),
    "a fail-over does not continue deletions": Mistake(failover, "continue_deletions", _nothing),
    "a broker that returns does not resume deletions": Mistake(
        broker_changes, "resume_deletions", _nothing
    ),
    "a conflict is not decided again": Mistake(
        leadership_updates, "write_leaderships", _write_once
    ),
    "a controller that was replaced may write": Mistake(StoreModel, "rejects", _never),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_planted_mistake_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake = MISTAKES[name]
    monkeypatch.setattr(mistake.owner, mistake.name, mistake.replacement)

    with pytest.raises(AssertionError):
        _run_seeds(1_500)


def _run_seeds(number: int) -> Counter[str]:
    counts = Counter[str]()
    for seed in range(number):
        counts += run(seeded_steps(seed))
    return counts
