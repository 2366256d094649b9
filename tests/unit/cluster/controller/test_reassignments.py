"""Reassignments; `tests/scripts/controller/reassignment*.txt` show their phases."""

import pytest

from cordwood.cluster.controller.context.cluster_context import (
    ClusterContext,
    PartitionLifecycle,
    ReplicaLifecycle,
)
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import WriteLeaderships
from cordwood.cluster.controller.reassignments import (
    complete_reassignments,
    is_complete,
    reassign,
    resume_reassignments,
    withdraw_requested_reassignments,
)
from tests.unit.cluster.controller.controller_samples import (
    ORDERS_0,
    Performed,
    before_first,
    cluster_context,
    store_of,
)
from tests.unit.cluster.controller.store_model import partition

MOVING = ReplicaAssignment((3, 2, 1), adding=(3,), removing=(1,))


def _moving(isr: tuple[int, ...] = (1, 2), brokers: tuple[int, ...] = (1, 2, 3)) -> ClusterContext:
    leadership = Leadership(isr[0], 0, isr, controller_epoch=7)
    context = cluster_context(brokers, (MOVING,), leaderships={ORDERS_0: leadership})
    context.reassigning.add(ORDERS_0)
    return context


@pytest.mark.parametrize(
    ("isr", "brokers", "expected"),
    (
        ((1, 2), (1, 2, 3), False),
        ((1, 2, 3), (1, 2, 3), True),
        ((2, 3), (1, 2), True),
        ((2, 3), (1,), False),
    ),
)
def test_reassignment_is_complete_when_its_target_is_in_sync_and_one_of_it_is_online(
    isr: tuple[int, ...], brokers: tuple[int, ...], *, expected: bool
) -> None:
    assert is_complete(_moving(isr, brokers), ORDERS_0) is expected


def test_partition_without_a_reassignment_is_complete() -> None:
    assert is_complete(cluster_context(), ORDERS_0)


def test_reassignment_of_a_partition_that_was_never_led_is_not_complete() -> None:
    context = _moving()
    context.leaderships.clear()

    assert not is_complete(context, ORDERS_0)


def test_reassignment_is_stored_before_new_replicas_start() -> None:
    context = cluster_context(assignments=((1, 2),))

    done = Performed(context, reassign(context, ORDERS_0, assignment=MOVING))

    assert done.lines[0] == "assign orders-0: 3,2,1 adding 3 removing 1"
    assert context.replica_state(3, ORDERS_0) is ReplicaLifecycle.NEW
    assert context.reassigning == {ORDERS_0}


def test_completed_reassignment_moves_the_leader_and_deletes_what_is_removed() -> None:
    context = _moving(isr=(1, 2, 3))

    done = Performed(context, complete_reassignments(context, (ORDERS_0,)))

    assert context.assignment(ORDERS_0) == ReplicaAssignment((3, 2))
    assert context.leaderships[ORDERS_0].leader == 3
    assert context.leaderships[ORDERS_0].isr == (2, 3)
    assert context.replica_state(1, ORDERS_0) is ReplicaLifecycle.NON_EXISTENT
    assert not context.reassigning
    assert done.store.topics["orders"].partitions == {0: ReplicaAssignment((3, 2))}


def test_leader_in_the_target_stays() -> None:
    context = _moving(isr=(2, 1, 3))

    Performed(context, complete_reassignments(context, (ORDERS_0,)))

    assert context.leaderships[ORDERS_0].leader == 2


def test_reassignment_that_is_not_ready_is_left_alone() -> None:
    context = _moving()

    flow = complete_reassignments(context, (ORDERS_0, partition("orders-1")))

    assert Performed(context, flow).lines == []


def test_resumed_reassignments_fulfil_the_condition() -> None:
    context = _moving()

    none = Performed(context, resume_reassignments(context, is_resumed=lambda *_: False))
    one = Performed(
        context,
        resume_reassignments(context, is_resumed=lambda _, assignment: 3 in assignment.target),
    )

    assert none.lines == []
    assert one.lines[0] == "write orders-0: leader 1, epoch 1, isr 1,2, if at 0"


def test_unneeded_leader_is_replaced_before_it_is_deleted() -> None:
    context = _moving(isr=(3, 1))

    done = Performed(
        context, reassign(context, ORDERS_0, assignment=MOVING.reassigned_to(MOVING.origin))
    )

    writes = [each for each in done.lines if each.startswith(("write", "assign"))]
    assert writes[:3] == [
        "write orders-0: leader 1, epoch 1, isr 3,1, if at 0",
        "write orders-0: leader 1, epoch 2, isr 1, if at 1",
        "assign orders-0: 2,1",
    ]


def test_unneeded_leader_stays_if_no_other_replica_can_lead() -> None:
    context = _moving(isr=(3, 1), brokers=(2, 3))
    store = store_of(context)
    store.unclean = {"orders"}

    done = Performed(
        context, reassign(context, ORDERS_0, assignment=MOVING.reassigned_to((2, 1))), store
    )

    assert done.result is False
    assert not [each for each in done.lines if each.startswith(("write", "assign", "Stop"))]
    assert context.assignment(ORDERS_0) == MOVING


def test_unneeded_leader_stays_if_it_has_stored_that_the_others_are_not_in_sync() -> None:
    context = _moving(isr=(3, 1))
    store = store_of(context)
    flow = reassign(context, ORDERS_0, assignment=MOVING.reassigned_to(MOVING.origin))
    flow = before_first(WriteLeaderships, flow, lambda: store.write_as_leader(ORDERS_0, (3,)))

    done = Performed(context, flow, store)

    assert done.result is False
    assert store.leaderships[ORDERS_0].isr == (3,)
    assert context.assignment(ORDERS_0) == MOVING


@pytest.mark.parametrize("isr", ((1,), (1, 2)))
def test_removed_leader_stays_if_it_has_stored_that_the_target_is_not_in_sync(
    isr: tuple[int, ...],
) -> None:
    context = _moving(isr=(1, 2, 3))
    store = store_of(context)
    store.write_as_leader(ORDERS_0, isr)

    done = Performed(context, complete_reassignments(context, (ORDERS_0,)), store)

    assert not [each for each in done.lines if each.startswith(("assign", "Stop"))]
    assert context.assignment(ORDERS_0) == MOVING
    assert context.reassigning == {ORDERS_0}


def test_reassignment_waits_if_the_leader_of_its_target_has_stored_a_smaller_in_sync_set() -> None:
    context = _moving(isr=(2, 1, 3))
    store = store_of(context)
    store.write_as_leader(ORDERS_0, (2, 1))

    Performed(context, complete_reassignments(context, (ORDERS_0,)), store)

    assert store.topics["orders"].partitions == {0: MOVING}
    assert store.leaderships[ORDERS_0].isr == (2, 1)


def test_reassignment_of_a_partition_that_was_never_led_changes_the_assignment() -> None:
    context = cluster_context(assignments=((1, 2),))
    context.leaderships.clear()
    context.partition_states[ORDERS_0] = PartitionLifecycle.NEW

    done = Performed(context, reassign(context, ORDERS_0, assignment=ReplicaAssignment((2, 1))))

    assert done.store.topics["orders"].partitions == {0: ReplicaAssignment((2, 1))}
    assert not context.reassigning


def test_topic_that_is_gone_is_forgotten() -> None:
    context = cluster_context(assignments=((1, 2),))
    store = store_of(context)
    del store.topics["orders"]

    Performed(context, reassign(context, ORDERS_0, assignment=MOVING), store)

    assert not context.topics
    assert not context.reassigning


def test_deletion_waits_until_the_last_reassignment_of_its_topic_is_complete() -> None:
    context = _moving(isr=(1, 2, 3))
    context.deletions.queued.add("orders")
    context.deletions.ineligible.add("orders")

    Performed(context, complete_reassignments(context, (ORDERS_0,)))

    assert not context.deletions.ineligible
    assert context.deletions.begun == {"orders"}


def test_requested_reassignments_are_kept_unless_withdrawn() -> None:
    context = cluster_context()
    store = store_of(context)
    store.reassignments = {ORDERS_0: (3,), partition("orders-1"): (2,)}

    done = Performed(
        context,
        withdraw_requested_reassignments(context, is_withdrawn=lambda name, _: name == ORDERS_0),
        store,
    )
    again = Performed(
        context, withdraw_requested_reassignments(context, is_withdrawn=lambda *_: False), store
    )

    assert done.lines == ["requested reassignments: orders-1 to 2"]
    assert again.lines == []


def test_unneeded_follower_is_deleted_without_an_election() -> None:
    context = _moving()

    done = Performed(
        context, reassign(context, ORDERS_0, assignment=MOVING.reassigned_to(MOVING.origin))
    )

    assert context.leaderships[ORDERS_0].leader == 1
    assert context.replica_state(3, ORDERS_0) is ReplicaLifecycle.NON_EXISTENT
    assert "  orders-0: epoch 0, deleted" in done.lines


def test_new_replica_starts_without_a_request_before_the_first_leader() -> None:
    context = cluster_context(assignments=((1, 2),))
    context.leaderships.clear()
    store = store_of(context)

    done = Performed(context, reassign(context, ORDERS_0, assignment=MOVING), store)

    assert done.lines == ["assign orders-0: 3,2,1 adding 3 removing 1", "read orders-0"]
    assert context.replica_state(3, ORDERS_0) is ReplicaLifecycle.NEW
