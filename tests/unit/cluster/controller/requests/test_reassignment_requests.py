"""Requests for reassignments; `tests/scripts/controller/reassignment_failures.txt` has more."""

import pytest

from cordwood.cluster.controller.context.cluster_context import ClusterContext
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.requests.reassignment_requests import (
    alter_reassignments,
    list_reassignments,
    start_requested_reassignments,
)
from cordwood.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from cordwood.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
    OngoingPartitionReassignment,
)
from tests.unit.cluster.controller.controller_samples import (
    ORDERS_0,
    Performed,
    cluster_context,
    store_of,
)
from tests.unit.cluster.controller.store_model import StoreModel, partition

MOVING = ReplicaAssignment((3, 2, 1), adding=(3,), removing=(1,))


def _result(
    context: ClusterContext,
    target: list[int] | None,
    *,
    number: int = 0,
    may_change_factor: bool = True,
    store: StoreModel | None = None,
) -> tuple[int, str | None]:
    moved = ReassignablePartition(partition_index=number, replicas=target)
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=may_change_factor,
        topics=[ReassignableTopic(name="orders", partitions=[moved])],
    )
    (response,) = Performed(context, alter_reassignments(context, request), store).responses
    assert isinstance(response, AlterPartitionReassignmentsResponse)
    (found,) = response.responses[0].partitions
    return found.error_code, found.error_message


def test_accepted_reassignment_begins() -> None:
    context = cluster_context(assignments=((1, 2),))

    assert _result(context, [3, 2]) == (0, None)
    assert context.assignment(ORDERS_0) == MOVING


@pytest.mark.parametrize(
    ("target", "code", "message"),
    (
        ([], 39, "Empty replica list specified in partition reassignment."),
        ([2, 2], 39, "Duplicate replica ids in partition reassignment replica list: 2,2"),
        ([-1], 39, "Invalid broker id in replica list: -1"),
        (
            [4, 1],
            39,
            (
                "Replica assignment has brokers that are not alive. Replica list: 4, "
                "live broker list: 1,2,3"
            ),
        ),
        (None, 85, "orders-0: no reassignment is in progress"),
    ),
)
def test_invalid_targets_are_rejected(target: list[int] | None, code: int, message: str) -> None:
    assert _result(cluster_context(assignments=((1, 2),)), target) == (code, message)


def test_unknown_partitions_and_topics_being_deleted_are_rejected() -> None:
    context = cluster_context()

    assert _result(context, [1], number=9)[0] == 3
    context.deletions.queued.add("orders")
    assert _result(context, [1])[0] == 3


def test_another_replication_factor_may_be_forbidden() -> None:
    context = cluster_context(assignments=((1, 2),))

    code, message = _result(context, [3], may_change_factor=False)

    assert (code, message) == (38, "The replication factor is changed from 2 to 1")
    assert _result(context, [3, 1], may_change_factor=False) == (0, None)


def test_cancellation_that_would_delete_all_in_sync_replicas_is_rejected() -> None:
    led = Leadership(3, 2, (3,))
    context = cluster_context(assignments=(MOVING,), leaderships={ORDERS_0: led})

    assert _result(context, None) == (
        39,
        "No in-sync replica would remain: 3 are in sync, the partition would have 2,1",
    )


def test_cancellation_is_rejected_by_the_stored_in_sync_set() -> None:
    """The set in memory is outdated if a leader with an earlier protocol has stored its own."""
    led = Leadership(3, 2, (3, 2))
    context = cluster_context(assignments=(MOVING,), leaderships={ORDERS_0: led})
    store = store_of(context)
    store.write_as_leader(ORDERS_0, (3,))

    assert _result(context, None, store=store) == (
        39,
        "No in-sync replica would remain, or none that can lead.",
    )
    assert context.assignment(ORDERS_0) == MOVING


def test_api_takes_precedence_over_the_store() -> None:
    context = cluster_context(assignments=((1, 2), (1, 2)))
    store = store_of(context)
    store.reassignments = {ORDERS_0: (3,), partition("orders-1"): (3,)}

    _result(context, [3, 2], store=store)

    assert store.reassignments == {partition("orders-1"): (3,)}


def test_topic_that_disappears_meanwhile_is_unknown() -> None:
    context = cluster_context(assignments=((1, 2), (1, 2)))
    store = store_of(context)
    store.reassignments = {ORDERS_0: (3, 2), partition("orders-1"): (3, 2)}
    del store.topics["orders"]

    begun = Performed(context, start_requested_reassignments(context), store).result

    assert begun == frozenset()
    assert not store.reassignments
    assert not context.topics


def test_requested_reassignments_begin_and_impossible_ones_are_withdrawn() -> None:
    context = cluster_context(assignments=((1, 2),))
    store = store_of(context)
    store.reassignments = {ORDERS_0: (3, 2), partition("orders-9"): (3,)}

    begun = Performed(context, start_requested_reassignments(context), store).result

    assert begun == {ORDERS_0}
    assert store.reassignments == {ORDERS_0: (3, 2)}
    assert context.assignment(ORDERS_0) == MOVING


@pytest.mark.parametrize("numbers", (None, [0, 1, 7]))
def test_list_has_the_reassignments_in_progress(numbers: list[int] | None) -> None:
    context = cluster_context(assignments=(MOVING, (1, 2)))
    context.reassigning.add(ORDERS_0)
    request = ListPartitionReassignmentsRequest(
        topics=None
        if numbers is None
        else [ListPartitionReassignmentsTopics(name="orders", partition_indexes=numbers)]
    )

    (response,) = Performed(context, list_reassignments(context, request)).responses

    assert isinstance(response, ListPartitionReassignmentsResponse)
    assert response.topics[0].partitions == [
        OngoingPartitionReassignment(
            partition_index=0, replicas=[3, 2, 1], adding_replicas=[3], removing_replicas=[1]
        )
    ]
