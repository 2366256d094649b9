"""Elections: every strategy, with and without an eligible replica."""

import pytest

from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.leader_election import (
    Election,
    ElectionStrategy,
    can_lead,
    elect,
    needs_unclean_leader,
)
from tests.unit.cluster.controller.controller_samples import ORDERS_0, cluster_context

OFFLINE = ElectionStrategy.OFFLINE
UNCLEAN = ElectionStrategy.UNCLEAN
PREFERRED = ElectionStrategy.PREFERRED
REASSIGNMENT = ElectionStrategy.REASSIGNMENT
SHUTDOWN = ElectionStrategy.CONTROLLED_SHUTDOWN


def _elect(
    strategy: ElectionStrategy,
    *,
    live: tuple[int, ...] = (1, 2, 3),
    isr: tuple[int, ...] = (1, 2, 3),
    assignment: ReplicaAssignment = ReplicaAssignment((1, 2, 3)),  # noqa: B008 - a value
    allowed: bool = False,
    shutting_down: tuple[int, ...] = (),
) -> Election:
    leadership = Leadership(1, 4, isr)
    context = cluster_context(live, (assignment,), leaderships={ORDERS_0: leadership})
    for each in shutting_down:
        context.begin_shutdown(each)
    return elect(
        context, ORDERS_0, strategy=strategy, leadership=leadership, is_unclean_allowed=allowed
    )


def _led(leader: int, *isr: int, is_recovering: bool = False) -> Leadership:
    return Leadership(leader, 5, isr, is_recovering)


def test_offline_election_takes_the_first_replica_that_is_online_and_in_sync() -> None:
    assert _elect(OFFLINE, live=(2, 3), isr=(3, 1, 2)) == Election(_led(2, 3, 2), [2, 3])
    assert _elect(OFFLINE, live=(2, 3), isr=(3, 1)) == Election(_led(3, 3), [2, 3])


def test_offline_election_without_an_in_sync_replica_needs_permission() -> None:
    assert _elect(OFFLINE, live=(2, 3), isr=(1,)) == Election(None, [2, 3])
    assert _elect(OFFLINE, live=(2, 3), isr=(1,), allowed=True) == Election(
        _led(2, 2, is_recovering=True), [2, 3]
    )
    assert _elect(UNCLEAN, live=(3,), isr=(1,)) == Election(_led(3, 3, is_recovering=True), [3])


def test_permission_for_an_unclean_leader_is_not_used_without_need() -> None:
    assert _elect(UNCLEAN, live=(2, 3), isr=(1, 3)) == Election(_led(3, 3), [2, 3])


def test_offline_election_without_an_online_replica_has_no_leader() -> None:
    assert _elect(OFFLINE, live=(4,), allowed=True) == Election(None, [])


def test_unclean_leader_is_a_replica_that_is_not_being_added_if_there_is_one() -> None:
    moving = ReplicaAssignment((3, 1, 2), adding=(3,), removing=(2,))

    assert _elect(UNCLEAN, live=(2, 3), isr=(1,), assignment=moving).leadership == _led(
        2, 2, is_recovering=True
    )
    assert _elect(UNCLEAN, live=(3,), isr=(1,), assignment=moving).leadership == _led(
        3, 3, is_recovering=True
    )


@pytest.mark.parametrize("live", ((2, 3), (1, 2, 3)))
def test_preferred_election_takes_the_first_replica_or_none(live: tuple[int, ...]) -> None:
    elected = _elect(PREFERRED, live=live, isr=(2, 1))

    assert elected.recipients == (1, 2, 3)
    assert elected.leadership == (_led(1, 2, 1) if 1 in live else None)


def test_preferred_replica_that_is_not_in_sync_is_not_elected() -> None:
    assert _elect(PREFERRED, isr=(2, 3)).leadership is None


def test_reassignment_election_takes_the_first_replica_that_is_online_and_in_sync() -> None:
    left = ReplicaAssignment((3, 2))

    assert _elect(REASSIGNMENT, isr=(1, 2), assignment=left) == Election(_led(2, 1, 2), (3, 2))
    assert _elect(REASSIGNMENT, isr=(1,), assignment=left, allowed=True) == Election(None, (3, 2))


def test_controlled_shutdown_moves_the_leader_to_a_broker_that_stays() -> None:
    assert _elect(SHUTDOWN, shutting_down=(1,)) == Election(_led(2, 2, 3), [1, 2, 3])
    assert _elect(SHUTDOWN, shutting_down=(1, 2)) == Election(_led(3, 3), [1, 2, 3])
    assert _elect(SHUTDOWN, isr=(1,), shutting_down=(1,)) == Election(None, [1, 2, 3])


def test_replica_can_lead_if_it_is_online_and_in_sync() -> None:
    context = cluster_context((1, 2), leaderships={ORDERS_0: Leadership(1, 0, (1, 3))})

    assert can_lead(context, ORDERS_0, broker_id=1)
    assert not can_lead(context, ORDERS_0, broker_id=2)
    assert not can_lead(context, ORDERS_0, broker_id=3)
    del context.leaderships[ORDERS_0]
    assert not can_lead(context, ORDERS_0, broker_id=1)


def test_unclean_leader_is_needed_if_no_in_sync_replica_is_online() -> None:
    context = cluster_context((1, 2))

    assert needs_unclean_leader(context, ORDERS_0, isr=(3,))
    assert not needs_unclean_leader(context, ORDERS_0, isr=(3, 1))
