"""Brokers that come and go; `tests/scripts/controller/broker*.txt` show the effects."""

from cordwood.cluster.controller.broker_changes import (
    broker_modified,
    brokers_changed,
    leader_and_isr_answered,
    log_directories_failed,
)
from cordwood.cluster.controller.context.cluster_context import ClusterContext, ReplicaLifecycle
from cordwood.cluster.controller.context.live_broker import BrokerEndpoint
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from tests.unit.cluster.controller.controller_samples import (
    ORDERS_0,
    ORDERS_ID,
    Performed,
    cluster_context,
    live_broker,
    store_of,
)
from tests.unit.cluster.controller.store_model import StoreModel, partition

STORAGE_ERROR = 56


def _answer(
    context: ClusterContext,
    store: StoreModel,
    *,
    error_code: int = 0,
    partition_error: int = STORAGE_ERROR,
    topic_id: Uuid = ORDERS_ID,
) -> list[str]:
    found = LeaderAndIsrPartitionError(partition_index=0, error_code=partition_error)
    topic = LeaderAndIsrTopicError(topic_id=topic_id, partition_errors=[found])
    response = LeaderAndIsrResponse(error_code=error_code, topics=[topic])
    flow = leader_and_isr_answered(context, 2, response=response)
    return Performed(context, flow, store).lines


def test_unchanged_registrations_have_no_effects() -> None:
    context = cluster_context()

    assert Performed(context, brokers_changed(context)).lines == []


def test_broker_that_goes_is_disconnected_and_its_replicas_go_offline() -> None:
    context = cluster_context()
    store = store_of(context)
    del store.brokers[1]

    done = Performed(context, brokers_changed(context), store)

    assert done.lines[0] == "disconnect 1"
    assert context.leaderships[ORDERS_0].leader == 2
    assert context.replica_state(1, ORDERS_0) is ReplicaLifecycle.OFFLINE


def test_broker_that_comes_is_connected_before_it_gets_anything() -> None:
    context = cluster_context((1, 2))
    store = store_of(context)
    store.register(3)

    done = Performed(context, brokers_changed(context), store)

    assert done.lines[:4] == [
        "connect 3",
        "UpdateMetadata of brokers 1,2,3 to 1,2",
        "UpdateMetadata of brokers 1,2,3 to 3",
        "  orders-0: leader 1, epoch 0",
    ]
    assert context.replica_state(3, ORDERS_0) is ReplicaLifecycle.ONLINE


def test_broker_that_registers_again_loses_its_leaderships_first() -> None:
    context = cluster_context()
    store = store_of(context)
    store.brokers[1] = live_broker(1, epoch=900)

    done = Performed(context, brokers_changed(context), store)

    assert done.lines[:3] == [
        "disconnect 1",
        "connect 1",
        "write orders-0: leader 2, epoch 1, isr 2,3, if at 0",
    ]
    assert context.brokers[1].epoch == 900
    assert context.is_online(1, ORDERS_0)


def test_broker_without_replicas_changes_the_metadata_alone() -> None:
    context = cluster_context((1, 2, 3, 4))
    store = store_of(context)
    del store.brokers[4]

    assert Performed(context, brokers_changed(context), store).lines == [
        "disconnect 4",
        "UpdateMetadata of brokers 1,2,3 to 1,2,3",
    ]


def test_end_of_a_broker_that_shut_down_ends_the_shutdown() -> None:
    context = cluster_context()
    context.begin_shutdown(1)
    store = store_of(context)
    del store.brokers[1]

    Performed(context, brokers_changed(context), store)
    store.register(1)
    Performed(context, brokers_changed(context), store)

    assert context.live == {1, 2, 3}


def test_new_endpoints_of_a_broker_are_sent_to_all() -> None:
    context = cluster_context()
    moved = live_broker(1)._replace(endpoints=(BrokerEndpoint("PLAINTEXT", "other", 9092),))

    done = Performed(context, broker_modified(context, moved))
    again = Performed(context, broker_modified(context, moved))
    other = Performed(context, broker_modified(context, live_broker(1, epoch=900)))
    unknown = Performed(context, broker_modified(context, live_broker(9)))

    assert done.lines == ["UpdateMetadata of brokers 1,2,3 to 1,2,3"]
    assert again.lines == other.lines == unknown.lines == []
    assert context.brokers[1] == moved


def test_failed_log_directory_makes_the_broker_report_its_replicas() -> None:
    context = cluster_context()

    done = Performed(context, log_directories_failed(context, (2, 9)))

    assert done.lines[:2] == [
        "LeaderAndIsr to 2",
        "  orders-0: leader 1, epoch 0, isr 1,2,3 of 1,2,3",
    ]


def test_replica_with_a_storage_error_goes_offline_once() -> None:
    context = cluster_context()
    store = store_of(context)

    first = _answer(context, store)
    second = _answer(context, store)

    assert first[0] == "write orders-0: leader 1, epoch 1, isr 1,3, if at 0"
    assert second == []
    assert context.offline_replicas == {2: {ORDERS_0}}


def test_replica_that_answers_without_an_error_is_readable_again() -> None:
    context = cluster_context()
    context.offline_replicas[2] = {ORDERS_0}

    _answer(context, store_of(context), partition_error=0)

    assert context.is_online(2, ORDERS_0)


def test_other_answers_change_nothing() -> None:
    context = cluster_context()
    store = store_of(context)

    assert _answer(context, store, error_code=77) == []
    assert _answer(context, store, partition_error=11) == []
    assert _answer(context, store, topic_id=Uuid(bytes(16))) == []
    context.unregister((2,))
    assert _answer(context, store) == []


def test_replica_of_a_topic_being_deleted_halts_the_deletion() -> None:
    context = cluster_context()
    context.deletions.queued.add("orders")
    context.deletions.begun.add("orders")
    for each in (1, 2, 3):
        context.replica_states[each][ORDERS_0] = ReplicaLifecycle.DELETION_STARTED

    _answer(context, store_of(context))

    assert context.deletions.ineligible == {"orders"}
    assert context.replica_state(2, ORDERS_0) is ReplicaLifecycle.DELETION_INELIGIBLE


def test_reassignment_continues_when_a_broker_of_its_target_comes() -> None:
    context = cluster_context((1, 2), ((1,),))
    store = store_of(context)
    moved = context.assignment(ORDERS_0).reassigned_to((3,))
    context.assignments[ORDERS_0] = moved
    context.reassigning.add(ORDERS_0)
    store.register(3)

    Performed(context, brokers_changed(context), store)

    assert context.leaderships[ORDERS_0].leader_epoch == 1
    assert partition("orders-0") in context.reassigning
