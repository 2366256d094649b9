"""Start of a controller; `tests/scripts/controller/fail_over.txt` shows its effects."""

from cordwood.cluster.controller.context.cluster_context import (
    ControllerSettings,
    PartitionLifecycle,
    ReplicaLifecycle,
)
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.failover import fail_over
from tests.unit.cluster.controller.cluster_model import ClusterModel
from tests.unit.cluster.controller.controller_samples import (
    ORDERS_0,
    Performed,
    cluster_context,
    store_of,
)
from tests.unit.cluster.controller.store_model import partition

SETTINGS = ControllerSettings(controller_id=1)


def test_new_controller_has_what_is_stored() -> None:
    context = cluster_context()
    store = store_of(context)

    found = Performed(context, fail_over(SETTINGS, epoch=7), store).result

    assert found.brokers == store.brokers
    assert found.leaderships == store.leaderships
    assert found.assignments == context.assignments
    assert found.topic_ids == {"orders": store.topics["orders"].topic_id}
    assert found.partition_states == {ORDERS_0: PartitionLifecycle.ONLINE}
    assert found.replica_state(3, ORDERS_0) is ReplicaLifecycle.ONLINE


def test_empty_cluster_has_no_requests() -> None:
    model = ClusterModel()

    model.elect()

    assert model.context is not None
    assert not model.queues


def test_partition_whose_leader_died_meanwhile_is_led_again() -> None:
    context = cluster_context((2, 3))
    store = store_of(context)

    Performed(context, fail_over(SETTINGS, epoch=7), store)

    assert store.leaderships[ORDERS_0].leader == 2
    assert store.leaderships[ORDERS_0].isr == (2, 3)


def test_unfinished_reassignment_is_completed() -> None:
    moving = ReplicaAssignment((3, 1), adding=(3,), removing=(1,))
    led = Leadership(1, 0, (1, 3), controller_epoch=7)
    context = cluster_context(assignments=(moving,), leaderships={ORDERS_0: led})
    store = store_of(context)

    found = Performed(context, fail_over(SETTINGS, epoch=7), store).result

    assert store.topics["orders"].partitions == {0: ReplicaAssignment((3,))}
    assert not found.reassigning


def test_requested_deletions_and_elections_are_done() -> None:
    led = Leadership(2, 0, (2, 1), controller_epoch=7)
    context = cluster_context(leaderships={ORDERS_0: led})
    store = store_of(context)
    store.create("returns", (1,))
    store.deletions.add("returns")
    store.elections = [ORDERS_0]

    found = Performed(context, fail_over(SETTINGS, epoch=7), store).result

    assert store.leaderships[ORDERS_0].leader == 1
    assert store.elections == []
    assert found.replica_state(1, partition("returns-0")) is ReplicaLifecycle.DELETION_STARTED


def test_former_controllers_decision_is_sent_by_the_next_one() -> None:
    model = ClusterModel()
    model.start(1, 2)
    model.elect()
    model.store.create("orders", (1, 2))
    model.store.leaderships[ORDERS_0] = Leadership(2, 5, (2,), partition_epoch=9)

    model.elect()
    model.settle()

    assert model.brokers[1].replicas[ORDERS_0].leader_epoch == 5
    assert model.brokers[2].metadata[ORDERS_0] == (2, 5)
