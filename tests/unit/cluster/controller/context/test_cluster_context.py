"""The context: brokers, topics, and their states."""

from cordwood.cluster.controller.context.cluster_context import (
    PartitionLifecycle,
    ReplicaLifecycle,
    replicas_of,
)
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.replica_assignment import UNASSIGNED, ReplicaAssignment
from tests.unit.cluster.controller.controller_samples import (
    ORDERS_0,
    ORDERS_ID,
    cluster_context,
    live_broker,
)
from tests.unit.cluster.controller.store_model import partition

ORDERS_1 = partition("orders-1")


def test_broker_that_shuts_down_is_served_and_not_online() -> None:
    context = cluster_context()

    context.begin_shutdown(1)

    assert context.is_shutting_down(1)
    assert context.is_served(1, ORDERS_0)
    assert not context.is_online(1, ORDERS_0)
    assert not context.is_shutting_down(4)


def test_replica_in_a_failed_directory_is_neither_online_nor_served() -> None:
    context = cluster_context()

    context.offline_replicas[1] = {ORDERS_0}

    assert not context.is_online(1, ORDERS_0)
    assert not context.is_served(1, ORDERS_0)
    assert context.is_online(1, ORDERS_1)
    assert context.offline_among((1, 2, 4), ORDERS_0) == [1, 4]


def test_registration_ends_shutdowns_and_failed_directories() -> None:
    context = cluster_context()
    context.begin_shutdown(1)
    context.offline_replicas[1] = {ORDERS_0}

    context.register([live_broker(1, epoch=500)])

    assert context.is_online(1, ORDERS_0)
    assert context.brokers[1].epoch == 500


def test_unregistered_broker_is_gone() -> None:
    context = cluster_context()
    context.offline_replicas[1] = {ORDERS_0}

    context.unregister((1, 9))

    assert context.brokers.keys() == {2, 3}
    assert context.live == {2, 3}
    assert not context.offline_replicas


def test_unknown_partition_has_no_assignment_and_no_states() -> None:
    context = cluster_context()

    assert context.assignment(ORDERS_1) == UNASSIGNED
    assert context.partition_state(ORDERS_1) is PartitionLifecycle.NON_EXISTENT
    assert context.replica_state(1, ORDERS_1) is ReplicaLifecycle.NON_EXISTENT
    assert context.leader_epoch(ORDERS_1) == -1
    assert [*context.partitions_of("returns")] == []


def test_leader_epoch_is_minus_2_during_a_deletion() -> None:
    context = cluster_context()
    assert context.leader_epoch(ORDERS_0) == 0

    context.deletions.queued.add("orders")

    assert context.leader_epoch(ORDERS_0) == -2


def test_removed_topic_leaves_nothing_behind() -> None:
    context = cluster_context()
    context.reassigning.add(ORDERS_0)
    context.offline_replicas[1] = {ORDERS_0}
    for names in (context.deletions.queued, context.deletions.begun, context.deletions.ineligible):
        names.add("orders")

    context.remove_topic("orders")

    assert not context.topics
    assert not context.topic_ids
    assert not context.topic_names
    assert not context.assignments
    assert not context.leaderships
    assert not context.partition_states
    assert not any(context.replica_states.values())
    assert not context.reassigning
    assert not any(context.offline_replicas.values())
    assert not context.deletions.queued | context.deletions.begun | context.deletions.ineligible


def test_removal_of_an_unknown_topic_changes_nothing() -> None:
    context = cluster_context()

    context.remove_topic("returns")

    assert context.topic_names == {ORDERS_ID: "orders"}


def test_topics_being_deleted_are_left_out_of_leaderships() -> None:
    context = cluster_context((2, 3), leaderships={ORDERS_0: Leadership(1, 0, (1,))})
    assert context.partitions_with_lost_leader() == [ORDERS_0]
    assert context.partitions_with_leaderships() == [ORDERS_0]

    context.deletions.queued.add("orders")

    assert context.partitions_with_lost_leader() == []
    assert context.partitions_with_leaderships() == []


def test_replicas_are_found_by_broker_and_by_state() -> None:
    context = cluster_context(assignments=((1, 2), (2, 3)))
    context.replica_states[2][ORDERS_0] = ReplicaLifecycle.OFFLINE
    offline = ReplicaLifecycle.OFFLINE

    assert context.replicas_on((1, 2, 9)) == {1: [ORDERS_0], 2: [ORDERS_0, ORDERS_1], 9: []}
    assert context.replicas_in("orders", offline) == {2: [ORDERS_0]}
    assert context.has_replica_in("orders", offline)
    assert not context.is_topic_in("orders", offline)
    assert context.partitions_in(PartitionLifecycle.ONLINE) == [ORDERS_0, ORDERS_1]


def test_added_partitions_are_stored_with_the_others() -> None:
    context = cluster_context(assignments=((1, 2),))

    context.add_partitions("orders", {1: ReplicaAssignment((3,))})

    assert context.assignments_of("orders") == {
        0: ReplicaAssignment((1, 2)),
        1: ReplicaAssignment((3,)),
    }


def test_replicas_of_partitions_are_grouped_by_broker() -> None:
    assert replicas_of([(ORDERS_0, (1, 2)), (ORDERS_1, (2,))]) == {
        1: [ORDERS_0],
        2: [ORDERS_0, ORDERS_1],
    }
