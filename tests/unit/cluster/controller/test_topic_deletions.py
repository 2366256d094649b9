"""Deletions of topics; `tests/scripts/controller/deletion*.txt` show their effects."""

from dataclasses import replace

import pytest

from cordwood.cluster.controller.context.cluster_context import (
    ClusterContext,
    ControllerSettings,
    PartitionLifecycle,
    ReplicaLifecycle,
)
from cordwood.cluster.controller.topic_deletions import (
    continue_deletions,
    deletions_requested,
    halt_deletions,
    load_deletions,
    replicas_deletion_failed,
    resume_deletions,
    stop_replica_answered,
)
from cordwood.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
)
from tests.unit.cluster.controller.controller_samples import (
    ORDERS_0,
    Performed,
    cluster_context,
    store_of,
)
from tests.unit.cluster.controller.store_model import StoreModel

STARTED = ReplicaLifecycle.DELETION_STARTED
SUCCESSFUL = ReplicaLifecycle.DELETION_SUCCESSFUL
DISABLED = ControllerSettings(controller_id=1, is_topic_deletion_enabled=False)


def _requested(context: ClusterContext) -> StoreModel:
    store = store_of(context)
    store.deletions.add("orders")
    return store


def _begun(brokers: tuple[int, ...] = (1, 2)) -> tuple[ClusterContext, StoreModel]:
    context = cluster_context(brokers, ((1, 2),))
    store = _requested(context)
    Performed(context, deletions_requested(context), store)
    return context, store


def _answer(
    context: ClusterContext,
    store: StoreModel,
    broker_id: int,
    *,
    error: int = 0,
    partition_error: int = 0,
    is_deleted: bool = True,
) -> list[str]:
    state = StopReplicaPartitionState(partition_index=0, delete_partition=is_deleted)
    topic = StopReplicaTopicState(topic_name="orders", partition_states=[state])
    request = StopReplicaRequest(controller_id=1, controller_epoch=7, topic_states=[topic])
    found = StopReplicaPartitionError(
        topic_name="orders", partition_index=0, error_code=partition_error
    )
    response = StopReplicaResponse(error_code=error, partition_errors=[found])
    flow = stop_replica_answered(context, broker_id, request=request, response=response)
    return Performed(context, flow, store).lines


def test_requested_deletion_stops_all_replicas() -> None:
    context, _ = _begun()

    assert context.partition_state(ORDERS_0) is PartitionLifecycle.NON_EXISTENT
    assert context.is_topic_in("orders", STARTED)
    assert context.deletions.begun == {"orders"}


def test_topic_is_removed_when_all_replicas_are_deleted() -> None:
    context, store = _begun()

    assert _answer(context, store, 1) == []
    assert _answer(context, store, 2) == ["delete orders"]

    assert not context.topics
    assert not store.topics
    assert not store.deletions


@pytest.mark.parametrize(("error", "partition_error"), ((77, 0), (0, 56)))
def test_failed_deletion_waits(error: int, partition_error: int) -> None:
    context, store = _begun()

    _answer(context, store, 1, error=error, partition_error=partition_error)

    assert context.deletions.ineligible == {"orders"}
    assert context.replica_state(1, ORDERS_0) is ReplicaLifecycle.DELETION_INELIGIBLE


def test_answer_to_a_stop_without_deletion_is_ignored() -> None:
    context, store = _begun()

    assert _answer(context, store, 1, is_deleted=False) == []
    assert context.replica_state(1, ORDERS_0) is STARTED


def test_late_answer_of_a_deletion_is_ignored() -> None:
    context, store = _begun()
    context.replica_states[1][ORDERS_0] = ReplicaLifecycle.OFFLINE

    assert _answer(context, store, 1) == []


def test_unknown_topics_and_disabled_deletions_are_dropped() -> None:
    context = cluster_context()
    store = _requested(context)
    store.deletions.add("returns")
    context.settings = DISABLED

    done = Performed(context, deletions_requested(context), store)

    assert done.lines == ["drop deletions of returns", "drop deletions of orders"]
    assert not context.deletions.queued


@pytest.mark.parametrize("names", (set[str](), {"orders"}))
def test_fail_over_drops_deletions_if_they_are_disabled(names: set[str]) -> None:
    context = cluster_context()
    context.settings = DISABLED
    store = store_of(context)
    store.deletions |= names

    Performed(context, load_deletions(context), store)

    assert not store.deletions
    assert not context.deletions.queued


@pytest.mark.parametrize(
    ("brokers", "is_reassigned", "is_ineligible"),
    (((1, 2, 3), False, False), ((1, 2), False, True), ((1, 2, 3), True, True)),
)
def test_fail_over_halts_deletions_that_cannot_complete(
    brokers: tuple[int, ...], *, is_reassigned: bool, is_ineligible: bool
) -> None:
    context = cluster_context(brokers)
    context.reassigning |= {ORDERS_0} if is_reassigned else set()

    Performed(context, load_deletions(context), _requested(context))

    assert context.deletions.queued == {"orders"}
    assert context.deletions.ineligible == ({"orders"} if is_ineligible else set())


def test_deletion_of_a_dead_replica_waits_for_its_broker() -> None:
    context, store = _begun((1,))
    assert context.deletions.ineligible == {"orders"}
    _answer(context, store, 1)

    context.register(cluster_context((2,)).brokers.values())
    context.replica_states[2][ORDERS_0] = ReplicaLifecycle.ONLINE
    Performed(context, resume_deletions(context, ("orders", "returns")), store)

    assert context.replica_state(1, ORDERS_0) is SUCCESSFUL
    assert context.replica_state(2, ORDERS_0) is STARTED
    assert _answer(context, store, 2) == ["delete orders"]


def test_deletion_does_not_resume_during_a_reassignment_or_without_a_request() -> None:
    context = cluster_context()
    assert Performed(context, resume_deletions(context, ("orders",))).lines == []
    context.deletions = replace(context.deletions, queued={"orders"}, ineligible={"orders"})
    context.reassigning.add(ORDERS_0)

    assert Performed(context, resume_deletions(context, ("orders",))).lines == []
    assert context.deletions.ineligible == {"orders"}


def test_only_queued_deletions_are_halted() -> None:
    context = cluster_context()

    halt_deletions(context, ("orders",))
    flow = replicas_deletion_failed(context, {1: [ORDERS_0]})

    assert Performed(context, flow).lines == []
    assert not context.deletions.ineligible


def test_deletion_in_progress_is_left_alone() -> None:
    context, store = _begun()

    assert Performed(context, continue_deletions(context), store).lines == []


def test_topic_without_partitions_is_removed_at_once() -> None:
    context = cluster_context(assignments=())
    store = _requested(context)

    assert Performed(context, deletions_requested(context), store).lines == ["delete orders"]


def test_nothing_is_deleted_without_a_request() -> None:
    context = cluster_context()

    assert Performed(context, deletions_requested(context)).lines == []


def test_deletion_that_failed_is_repeated_with_the_next_one() -> None:
    context, store = _begun()
    _answer(context, store, 1, partition_error=56)
    _answer(context, store, 2)
    assert context.replica_state(1, ORDERS_0) is ReplicaLifecycle.OFFLINE

    context.deletions.ineligible.clear()
    Performed(context, continue_deletions(context), store)

    assert context.replica_state(1, ORDERS_0) is STARTED
    assert context.replica_state(2, ORDERS_0) is SUCCESSFUL
