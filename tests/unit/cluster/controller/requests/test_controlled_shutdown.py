"""ControlledShutdown; `tests/scripts/controller/controlled_shutdown.txt` shows its effects."""

import pytest

from cordwood.cluster.controller.context.cluster_context import ClusterContext
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.requests.controlled_shutdown import (
    failed_controlled_shutdown,
    shut_down_broker,
)
from cordwood.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from tests.unit.cluster.controller.controller_samples import (
    ORDERS_0,
    Performed,
    cluster_context,
)
from tests.unit.cluster.controller.store_model import partition

ORDERS_1 = partition("orders-1")


def _shut_down(
    context: ClusterContext, broker_id: int = 1, epoch: int = 101
) -> ControlledShutdownResponse:
    request = ControlledShutdownRequest(broker_id=broker_id, broker_epoch=epoch)
    (response,) = Performed(context, shut_down_broker(context, request)).responses
    assert isinstance(response, ControlledShutdownResponse)
    return response


def test_leaderships_move_and_followers_leave_the_in_sync_sets() -> None:
    context = cluster_context(assignments=((1, 2), (2, 1)))

    response = _shut_down(context)

    assert response == ControlledShutdownResponse(error_code=0, remaining_partitions=[])
    assert context.leaderships[ORDERS_0][:3] == (2, 1, (2,))
    assert context.leaderships[ORDERS_1][:3] == (2, 1, (2,))
    assert context.is_shutting_down(1)


def test_partition_without_another_in_sync_replica_remains() -> None:
    led = Leadership(1, 0, (1,))
    context = cluster_context(assignments=((1, 2), (1,)), leaderships={ORDERS_0: led})

    response = _shut_down(context)

    remaining = RemainingPartition(topic_name="orders", partition_index=0)
    assert response.remaining_partitions == [remaining]


def test_topics_being_deleted_are_left_alone() -> None:
    context = cluster_context()
    context.deletions.queued.add("orders")

    assert _shut_down(context).remaining_partitions == []
    assert context.leaderships[ORDERS_0].leader == 1


@pytest.mark.parametrize(
    ("broker_id", "epoch", "expected"), ((1, 100, 77), (9, 109, -1), (9, -1, 8))
)
def test_stale_and_unknown_brokers_are_rejected(broker_id: int, epoch: int, expected: int) -> None:
    context = cluster_context()

    assert _shut_down(context, broker_id, epoch) == failed_controlled_shutdown(expected)
    assert context.live == {1, 2, 3}


def test_broker_epoch_is_optional() -> None:
    assert _shut_down(cluster_context(), epoch=-1).error_code == 0
