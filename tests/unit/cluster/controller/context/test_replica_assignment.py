"""Assignments: origin and target of a reassignment."""

from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment

PLAIN = ReplicaAssignment((1, 2, 3))
MOVING = ReplicaAssignment((4, 2, 5, 1, 3), adding=(4, 5), removing=(1, 3))


def test_reassignment_lists_the_target_first() -> None:
    assert PLAIN.reassigned_to((4, 2, 5)) == MOVING


def test_target_and_origin_are_parts_of_the_replicas() -> None:
    assert MOVING.target == (4, 2, 5)
    assert MOVING.origin == (2, 1, 3)
    assert MOVING.is_being_reassigned


def test_replaced_reassignment_keeps_the_origin() -> None:
    assert MOVING.reassigned_to((6,)) == ReplicaAssignment(
        (6, 2, 1, 3), adding=(6,), removing=(2, 1, 3)
    )


def test_cancelled_reassignment_restores_the_set() -> None:
    cancelled = MOVING.reassigned_to(MOVING.origin)

    assert cancelled == ReplicaAssignment((2, 1, 3))
    assert not cancelled.is_being_reassigned


def test_completed_reassignment_is_its_target() -> None:
    assert MOVING.completed() == ReplicaAssignment((4, 2, 5))


def test_removed_replica_is_in_no_part() -> None:
    assert MOVING.without(4).without(1) == ReplicaAssignment((2, 5, 3), adding=(5,), removing=(3,))
