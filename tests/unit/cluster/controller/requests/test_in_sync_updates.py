"""AlterPartition; `tests/scripts/controller/in_sync_sets.txt` has its errors in their order."""

import pytest

from cordwood.cluster.controller.context.cluster_context import ClusterContext
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.requests.in_sync_updates import (
    alter_partition,
    failed_alter_partition,
    in_sync_sets_changed,
)
from cordwood.core.uuids import Uuid
from cordwood.protocol.codec import encode
from cordwood.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionState,
    AlterPartitionTopic,
    BrokerState,
)
from tests.unit.cluster.controller.controller_samples import (
    ORDERS_0,
    ORDERS_ID,
    Performed,
    cluster_context,
    store_of,
)
from tests.unit.cluster.controller.store_model import StoreModel, partition

LED = Leadership(1, 4, (1, 2), partition_epoch=9, controller_epoch=7)


def _context(led: Leadership = LED) -> ClusterContext:
    return cluster_context(leaderships={ORDERS_0: led})


def _request(
    *members: int | tuple[int, int],
    version: int = 3,
    topic: str = "orders",
    topic_id: Uuid = ORDERS_ID,
    **changes: int,
) -> AlterPartitionRequest:
    """Return a request of broker 1; members may have their broker epochs."""
    epochs = [each if isinstance(each, tuple) else (each, -1) for each in members]
    state = AlterPartitionState(
        partition_index=changes.get("partition", 0),
        leader_epoch=changes.get("epoch", 4),
        leader_recovery_state=changes.get("recovering", 0),
        partition_epoch=changes.get("at", 9),
    )
    if version >= 3:
        state.new_isr_with_epochs = [
            BrokerState(broker_id=each, broker_epoch=epoch) for each, epoch in epochs
        ]
    else:
        state.new_isr = [each for each, _ in epochs]
    broker_id = changes.get("broker", 1)
    return AlterPartitionRequest(
        broker_id=broker_id,
        broker_epoch=changes.get("broker_epoch", broker_id + 100),
        topics=[AlterPartitionTopic(topic_name=topic, topic_id=topic_id, partitions=[state])],
    )


def _response(
    context: ClusterContext,
    request: AlterPartitionRequest,
    *,
    version: int = 3,
    store: StoreModel | None = None,
) -> AlterPartitionResponse:
    performed = Performed(context, alter_partition(context, request, version=version), store)
    (response,) = performed.responses
    assert isinstance(response, AlterPartitionResponse)
    return response


def _error(context: ClusterContext, request: AlterPartitionRequest, *, version: int = 3) -> int:
    response = _response(context, request, version=version)
    return response.topics[0].partitions[0].error_code


def test_accepted_set_is_stored_in_the_same_leader_epoch() -> None:
    context = _context()
    store = store_of(context)

    response = _response(context, _request(1, (3, 103)), store=store)

    (found,) = response.topics[0].partitions
    assert (found.leader_id, found.leader_epoch, found.isr) == (1, 4, [1, 3])
    assert found.partition_epoch == 10
    assert store.leaderships[ORDERS_0] == LED._replace(isr=(1, 3), partition_epoch=10)
    assert context.leaderships == store.leaderships


@pytest.mark.parametrize(("broker", "broker_epoch"), ((1, 1), (9, 109)))
def test_request_of_another_registration_is_stale(broker: int, broker_epoch: int) -> None:
    response = _response(_context(), _request(1, 2, broker=broker, broker_epoch=broker_epoch))

    assert response == failed_alter_partition(77)


@pytest.mark.parametrize(
    ("expected", "request_"),
    (
        (100, _request(1, topic_id=Uuid(bytes(16)))),
        (3, _request(1, partition=4)),
        (41, _request(1, epoch=5)),
        (41, _request(1, at=10)),
        (74, _request(1, epoch=3)),
        (42, _request(1, broker=2)),
        (95, _request(1, at=8)),
        (42, _request(2)),
        (42, _request()),
        (42, _request(1, 4)),
        (42, _request(1, recovering=1)),
        (107, _request(1, (3, 100))),
    ),
)
def test_errors_of_a_partition(expected: int, request_: AlterPartitionRequest) -> None:
    assert _error(_context(), request_) == expected


def test_set_that_is_present_already_succeeds_with_an_earlier_partition_epoch() -> None:
    response = _response(_context(), _request(1, 2, at=3))

    assert response.topics[0].partitions[0].partition_epoch == 9


def test_recovering_leader_may_have_itself_alone_and_may_recover() -> None:
    recovering = LED._replace(isr=(1,), is_recovering=True)

    assert _error(_context(recovering), _request(1, 2, recovering=1)) == 42
    assert _error(_context(recovering), _request(1, recovering=1)) == 0
    context = _context(recovering)
    assert _error(context, _request(1, 2)) == 0
    assert not context.leaderships[ORDERS_0].is_recovering


@pytest.mark.parametrize(("version", "expected"), ((1, 55), (2, 107)))
def test_ineligible_member_has_a_code_of_its_own_since_version_2(
    version: int, expected: int
) -> None:
    context = _context()
    context.begin_shutdown(3)

    assert _error(context, _request(1, 3, version=version), version=version) == expected


def test_topics_are_named_before_version_2() -> None:
    context = _context()
    request = _request(1, version=1, topic_id=Uuid(bytes(16)))

    response = _response(context, request, version=1)

    assert response.topics[0].topic_name == "orders"
    assert response.topics[0].partitions[0].error_code == 0
    unknown = _request(1, version=1, topic="returns")
    assert _error(context, unknown, version=1) == 3


def test_write_that_meets_another_partition_epoch_fails_and_is_read_again() -> None:
    context = _context()
    store = store_of(context)
    store.write_as_leader(ORDERS_0, (1, 2, 3))

    response = _response(context, _request(1), store=store)

    assert response.topics[0].partitions[0].error_code == 95
    assert context.leaderships == store.leaderships


def test_leadership_that_is_gone_has_its_own_error() -> None:
    context = _context()
    store = store_of(context)
    store.leaderships.clear()

    response = _response(context, _request(1), store=store)

    assert response.topics[0].partitions[0].error_code == 3


def test_response_precedes_the_end_of_a_reassignment() -> None:
    moving = ReplicaAssignment((3, 1), adding=(3,), removing=(1,))
    led = LED._replace(isr=(1,))
    context = cluster_context(assignments=(moving,), leaderships={ORDERS_0: led})
    context.reassigning.add(ORDERS_0)

    done = Performed(context, alter_partition(context, _request(1, 3), version=3))

    answered = next(at for at, line in enumerate(done.lines) if line.startswith("respond"))
    completed = done.lines.index("assign orders-0: 3")
    assert answered < completed


def test_stored_sets_are_taken_over_and_announced() -> None:
    context = _context()
    store = store_of(context)
    store.write_as_leader(ORDERS_0, (1, 3))

    done = Performed(context, in_sync_sets_changed(context, (ORDERS_0,)), store)

    assert done.lines == [
        "read orders-0",
        "UpdateMetadata of brokers 1,2,3 to 1,2,3",
        "  orders-0: leader 1, epoch 4",
    ]
    assert context.leaderships == store.leaderships


def test_stored_set_of_an_unknown_partition_is_ignored() -> None:
    context = _context()

    flow = in_sync_sets_changed(context, (partition("returns-0"),))

    assert Performed(context, flow).lines == []


def test_stored_set_with_a_broker_that_is_gone_shrinks() -> None:
    context = _context()
    context.unregister((3,))
    store = store_of(context)
    store.write_as_leader(ORDERS_0, (1, 3))

    Performed(context, in_sync_sets_changed(context, (ORDERS_0,)), store)

    assert store.leaderships[ORDERS_0].isr == (1,)


def test_stored_set_with_a_replica_that_is_not_assigned_any_more_shrinks() -> None:
    context = _context()
    context.assignments[ORDERS_0] = ReplicaAssignment((1, 2))
    store = store_of(context)
    store.write_as_leader(ORDERS_0, (1, 2, 3))

    done = Performed(context, in_sync_sets_changed(context, (ORDERS_0,)), store)

    assert done.lines[1] == "write orders-0: leader 1, epoch 5, isr 1,2, if at 10"


def test_stored_set_whose_leader_is_gone_waits_for_an_election() -> None:
    context = _context()
    context.unregister((1,))
    store = store_of(context)

    Performed(context, in_sync_sets_changed(context, (ORDERS_0,)), store)

    assert store.leaderships[ORDERS_0].isr == (1, 2)


@pytest.mark.parametrize("version", range(4))
def test_response_can_be_written_in_every_version(version: int) -> None:
    response = _response(_context(), _request(1, version=version), version=version)

    assert encode(response, version)
