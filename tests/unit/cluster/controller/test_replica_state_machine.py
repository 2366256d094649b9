"""States of replicas: every transition, valid and not, and its effects."""

from itertools import product

import pytest

from cordwood.cluster.controller.context.cluster_context import (
    ClusterContext,
    ReplicaLifecycle,
)
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.replica_state_machine import (
    change_replica_states,
    start_replica_states,
)
from tests.unit.cluster.controller.controller_samples import (
    ORDERS_0,
    Performed,
    cluster_context,
    store_of,
)
from tests.unit.cluster.controller.store_model import partition

NEW = ReplicaLifecycle.NEW
ONLINE = ReplicaLifecycle.ONLINE
OFFLINE = ReplicaLifecycle.OFFLINE
STARTED = ReplicaLifecycle.DELETION_STARTED
SUCCESSFUL = ReplicaLifecycle.DELETION_SUCCESSFUL
INELIGIBLE = ReplicaLifecycle.DELETION_INELIGIBLE
NON_EXISTENT = ReplicaLifecycle.NON_EXISTENT
VALID = {
    (NON_EXISTENT, NEW),
    *product((NEW, ONLINE, OFFLINE, INELIGIBLE), (ONLINE, OFFLINE)),
    (OFFLINE, STARTED),
    (STARTED, SUCCESSFUL),
    (STARTED, INELIGIBLE),
    (OFFLINE, INELIGIBLE),
    (SUCCESSFUL, NON_EXISTENT),
}


def _context_in(state: ReplicaLifecycle, broker_id: int = 2) -> ClusterContext:
    context = cluster_context()
    if state is NON_EXISTENT:
        del context.replica_states[broker_id][ORDERS_0]
    else:
        context.replica_states[broker_id][ORDERS_0] = state
    return context


def _change(
    context: ClusterContext, to: ReplicaLifecycle, *, broker_id: int = 2, is_led: bool = True
) -> Performed[None]:
    store = store_of(context)
    if not is_led:
        context.leaderships.clear()
    flow = change_replica_states(context, {broker_id: (ORDERS_0,)}, to=to)
    return Performed(context, flow, store)


@pytest.mark.parametrize("is_led", (True, False))
@pytest.mark.parametrize(("before", "after"), tuple(product(ReplicaLifecycle, repeat=2)))
def test_only_valid_transitions_are_made(
    before: ReplicaLifecycle, after: ReplicaLifecycle, *, is_led: bool
) -> None:
    context = _context_in(before)

    done = _change(context, after, is_led=is_led)

    if (before, after) in VALID:
        assert context.replica_state(2, ORDERS_0) is after
        assert not any(each.startswith("not done") for each in done.lines)
    else:
        assert context.replica_state(2, ORDERS_0) is before
        assert done.lines == [f"not done: orders-0 on 2 to {after.value}: it is {before.value}"]


def test_new_replica_gets_the_leadership_as_new() -> None:
    done = _change(_context_in(NON_EXISTENT), NEW)

    assert done.lines[:2] == [
        "LeaderAndIsr to 2",
        "  orders-0: leader 1, epoch 0, isr 1,2,3 of 1,2,3, new",
    ]


def test_leader_cannot_become_a_new_replica() -> None:
    context = _context_in(NON_EXISTENT, broker_id=1)

    done = _change(context, NEW, broker_id=1)

    assert done.lines == ["not done: orders-0 on 1 to new: it is the leader"]
    assert context.replica_state(1, ORDERS_0) is NON_EXISTENT


def test_started_replica_goes_online_without_a_request() -> None:
    assert _change(_context_in(NEW), ONLINE).lines == []


@pytest.mark.parametrize("before", (ONLINE, OFFLINE, INELIGIBLE))
def test_replica_that_comes_back_gets_the_leadership(before: ReplicaLifecycle) -> None:
    done = _change(_context_in(before), ONLINE)

    assert done.lines[:2] == [
        "LeaderAndIsr to 2",
        "  orders-0: leader 1, epoch 0, isr 1,2,3 of 1,2,3",
    ]


def test_offline_follower_is_stopped_and_leaves_the_in_sync_set() -> None:
    done = _change(_context_in(ONLINE), OFFLINE)

    assert done.lines == [
        "write orders-0: leader 1, epoch 1, isr 1,3, if at 0",
        "LeaderAndIsr to 1,3",
        "  orders-0: leader 1, epoch 1, isr 1,3 of 1,2,3",
        "UpdateMetadata of brokers 1,2,3 to 1,2,3",
        "  orders-0: leader 1, epoch 1",
        "StopReplica to 2",
        "  orders-0: epoch 0",
    ]


def test_offline_leader_leaves_the_partition_without_one() -> None:
    done = _change(_context_in(ONLINE), OFFLINE, broker_id=1)

    assert done.lines[0] == "write orders-0: leader -1, epoch 1, isr 2,3, if at 0"


def test_offline_replica_that_is_not_in_sync_changes_the_metadata_alone() -> None:
    context = _context_in(ONLINE)
    context.leaderships[ORDERS_0] = Leadership(1, 0, (1,))

    done = _change(context, OFFLINE)

    assert done.lines == [
        "UpdateMetadata of brokers 1,2,3 to 1,2,3",
        "  orders-0: leader 1, epoch 0",
        "StopReplica to 2",
        "  orders-0: epoch 0",
    ]


def test_offline_replica_of_a_topic_being_deleted_is_not_announced_to_the_others() -> None:
    context = _context_in(ONLINE)
    context.deletions.queued.add("orders")

    done = _change(context, OFFLINE)

    assert done.lines == [
        "write orders-0: leader 1, epoch 1, isr 1,3, if at 0",
        "StopReplica to 2",
        "  orders-0: epoch -2",
    ]


def test_replicas_that_do_not_exist_yet_are_not_told_of_an_offline_one() -> None:
    context = _context_in(ONLINE)
    del context.replica_states[3][ORDERS_0]

    done = _change(context, OFFLINE)

    assert done.lines[1] == "LeaderAndIsr to 1"


def test_conflict_in_the_removal_is_decided_again() -> None:
    context = _context_in(ONLINE)
    store = store_of(context)
    store.write_as_leader(ORDERS_0, (1, 2))

    flow = change_replica_states(context, {2: (ORDERS_0,)}, to=OFFLINE)
    done = Performed(context, flow, store)

    assert done.lines[1:3] == [
        "read orders-0",
        "write orders-0: leader 1, epoch 1, isr 1, if at 1",
    ]


def test_deletion_stops_the_replica_with_deletion() -> None:
    assert _change(_context_in(OFFLINE), STARTED).lines == [
        "StopReplica to 2",
        "  orders-0: epoch 0, deleted",
    ]


def test_deleted_replica_leaves_the_assignment() -> None:
    context = _context_in(SUCCESSFUL)

    _change(context, NON_EXISTENT)

    assert context.assignment(ORDERS_0).replicas == (1, 3)


def test_start_sends_all_leaderships_and_stops_what_is_offline() -> None:
    context = cluster_context((1, 2), ((1, 3), (2,)))
    context.replica_states.clear()

    done = Performed(context, start_replica_states(context))

    assert done.lines == [
        "LeaderAndIsr to 1",
        "  orders-0: leader 1, epoch 0, isr 1,3 of 1,3",
        "LeaderAndIsr to 2",
        "  orders-1: leader 2, epoch 0, isr 2 of 2",
        "UpdateMetadata of brokers 1,2 to 1,2",
        "  orders-0: leader 1, epoch 0, offline 3",
        "  orders-1: leader 2, epoch 0",
        "write orders-0: leader 1, epoch 1, isr 1, if at 0",
        "LeaderAndIsr to 1",
        "  orders-0: leader 1, epoch 1, isr 1 of 1,3",
        "UpdateMetadata of brokers 1,2 to 1,2",
        "  orders-0: leader 1, epoch 1, offline 3",
    ]
    assert context.replica_state(3, ORDERS_0) is OFFLINE
    assert context.replica_state(2, partition("orders-1")) is ONLINE
