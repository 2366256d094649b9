"""Flows that end before each of their effects: the next controller continues.

The controller crashes, or another one is elected while it still runs. `converged_cluster` has the
rules of a cluster at rest.
"""

from collections.abc import Callable, Mapping
from itertools import count
from typing import Final

import pytest

from cordwood.cluster.controller.broker_changes import log_directories_failed
from cordwood.cluster.controller.requests.controlled_shutdown import shut_down_broker
from cordwood.cluster.controller.requests.elections import elect_requested_leaders
from cordwood.cluster.controller.requests.in_sync_updates import alter_partition
from cordwood.cluster.controller.requests.reassignment_requests import (
    alter_reassignments,
    start_requested_reassignments,
)
from cordwood.cluster.controller.topic_changes import partitions_changed, topics_changed
from cordwood.cluster.controller.topic_deletions import deletions_requested
from cordwood.core.errors import StaleControllerEpochError
from cordwood.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionState,
    AlterPartitionTopic,
)
from cordwood.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from tests.properties.controller_simulation import Simulation, reassignment
from tests.properties.converged_cluster import check_converged
from tests.unit.cluster.controller.cluster_model import ClusterModel, ControllerCrashedError
from tests.unit.cluster.controller.store_model import partition

ORDERS_0: Final = partition("orders-0")
ORDERS_1: Final = partition("orders-1")


def _create(model: ClusterModel) -> None:
    model.store.create("payments", (1, 2), (3, 4), (5,))
    model.events.append(topics_changed)


def _grow(model: ClusterModel) -> None:
    model.store.grow("orders", (4, 3))
    model.events.append(lambda context: partitions_changed(context, "orders"))


def _delete(model: ClusterModel) -> None:
    model.store.deletions.add("orders")
    model.events.append(deletions_requested)


def _stop(model: ClusterModel) -> None:
    model.stop(1)


def _stop_all_in_sync(model: ClusterModel) -> None:
    model.stop(1, 2, 3)


def _restart(model: ClusterModel) -> None:
    model.start(1)


def _come(model: ClusterModel) -> None:
    model.start(5)


def _shut_down(model: ClusterModel) -> None:
    request = ControlledShutdownRequest(broker_id=1, broker_epoch=model.brokers[1].epoch)
    model.events.append(lambda context: shut_down_broker(context, request))


def _lose_directory(model: ClusterModel) -> None:
    model.brokers[1].offline.add(ORDERS_0)
    model.events.append(lambda context: log_directories_failed(context, (1,)))


def _reassign(model: ClusterModel) -> None:
    request = reassignment(ORDERS_0, [4, 3])
    model.events.append(lambda context: alter_reassignments(context, request))


def _request_reassignment(model: ClusterModel) -> None:
    model.store.reassignments[ORDERS_0] = (4, 3)
    model.events.append(start_requested_reassignments)


def _complete_reassignment(model: ClusterModel) -> None:
    """All of the target joins the in-sync set."""
    _reassign(model)
    model.settle()
    stored = model.store.leaderships[ORDERS_0]
    state = AlterPartitionState(
        partition_index=0,
        leader_epoch=stored.leader_epoch,
        new_isr=[1, 2, 4, 3],
        partition_epoch=stored.partition_epoch,
    )
    topic = AlterPartitionTopic(topic_name="orders", partitions=[state])
    epoch = model.brokers[1].epoch
    request = AlterPartitionRequest(broker_id=1, broker_epoch=epoch, topics=[topic])
    model.events.append(lambda context: alter_partition(context, request, version=1))


def _replace_reassignment(model: ClusterModel) -> None:
    _reassign(model)
    model.settle()
    request = reassignment(ORDERS_0, [3, 1])
    model.events.append(lambda context: alter_reassignments(context, request))


def _cancel_reassignment(model: ClusterModel) -> None:
    _reassign(model)
    model.settle()
    request = reassignment(ORDERS_0, None)
    model.events.append(lambda context: alter_reassignments(context, request))


def _delete_during_a_reassignment(model: ClusterModel) -> None:
    _complete_reassignment(model)
    model.store.deletions.add("orders")
    model.events.appendleft(deletions_requested)


def _elect_preferred(model: ClusterModel) -> None:
    model.store.elections = [ORDERS_0, ORDERS_1]
    model.events.append(elect_requested_leaders)


FLOWS: Final[Mapping[str, Callable[[ClusterModel], None]]] = {
    "a topic is created": _create,
    "a topic grows": _grow,
    "a topic is deleted": _delete,
    "a broker stops": _stop,
    "all in-sync brokers stop": _stop_all_in_sync,
    "a broker starts again": _restart,
    "a broker comes": _come,
    "a broker shuts down": _shut_down,
    "a log directory fails": _lose_directory,
    "a reassignment begins": _reassign,
    "a reassignment is requested through the store": _request_reassignment,
    "a reassignment completes": _complete_reassignment,
    "a reassignment is replaced": _replace_reassignment,
    "a reassignment is cancelled": _cancel_reassignment,
    "a topic is deleted during a reassignment": _delete_during_a_reassignment,
    "preferred leaders are requested": _elect_preferred,
}


@pytest.mark.parametrize("is_overtaken", (False, True))
@pytest.mark.parametrize("name", FLOWS)
def test_cluster_converges_if_the_controller_ends(name: str, *, is_overtaken: bool) -> None:
    for effects in count():
        simulation = Simulation()
        _prepare(simulation.model)
        FLOWS[name](simulation.model)
        has_ended = _run(simulation.model, effects, is_overtaken=is_overtaken)

        simulation.settle()
        check_converged(simulation.model)

        if not has_ended:
            assert effects > 1
            return


def _prepare(model: ClusterModel) -> None:
    model.start(1, 2, 3, 4)
    model.elect()
    model.store.create("orders", (1, 2), (2, 3))
    model.events.append(topics_changed)
    model.settle()


def _run(model: ClusterModel, effects: int, *, is_overtaken: bool) -> bool:
    """Run all events and deliveries; return whether the controller ended after these effects."""
    epoch = model.store.controller_epoch
    model.crash_after, model.is_overtaken = effects, is_overtaken
    try:
        model.settle()
    except ControllerCrashedError:
        model.elect()
    except StaleControllerEpochError:
        pass
    model.crash_after = None
    return model.store.controller_epoch > epoch
