"""Batches of requests: their receivers, their order, their contents."""

from cordwood.cluster.controller.broker_request_batch import BrokerRequestBatch, send_metadata
from cordwood.cluster.controller.context.cluster_context import ClusterContext
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.live_broker import BrokerEndpoint, LiveBroker
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import BrokerRequest, SendRequests
from cordwood.protocol.codec import encode
from cordwood.protocol.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from cordwood.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from cordwood.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from tests.unit.cluster.controller.controller_samples import (
    ORDERS_0,
    ORDERS_ID,
    Performed,
    cluster_context,
)
from tests.unit.cluster.controller.store_model import partition


def _sent(batch: BrokerRequestBatch) -> list[BrokerRequest]:
    return [
        request
        for effect in batch.send()
        if isinstance(effect, SendRequests)
        for request in effect.requests
    ]


def _lines(context: ClusterContext, batch: BrokerRequestBatch) -> list[str]:
    return Performed(context, batch.send()).lines


def test_leadership_is_sent_with_its_assignment_and_the_address_of_its_leader() -> None:
    moving = ReplicaAssignment((2, 1), adding=(2,), removing=(1,))
    leadership = Leadership(1, 4, (1,), is_recovering=True, partition_epoch=6, controller_epoch=5)
    context = cluster_context((1, 2), (moving,), leaderships={ORDERS_0: leadership})
    batch = BrokerRequestBatch(context)

    batch.add_leader_and_isr(ORDERS_0, brokers=(2,), is_new=True)

    assert _sent(batch)[0] == BrokerRequest(
        2,
        LeaderAndIsrRequest(
            controller_id=1,
            controller_epoch=7,
            broker_epoch=102,
            topic_states=[
                LeaderAndIsrTopicState(
                    topic_name="orders",
                    topic_id=ORDERS_ID,
                    partition_states=[
                        LeaderAndIsrPartitionState(
                            partition_index=0,
                            controller_epoch=5,
                            leader=1,
                            leader_epoch=4,
                            isr=[1],
                            partition_epoch=6,
                            replicas=[2, 1],
                            adding_replicas=[2],
                            removing_replicas=[1],
                            is_new=True,
                            leader_recovery_state=1,
                        )
                    ],
                )
            ],
            live_leaders=[LeaderAndIsrLiveLeader(broker_id=1, host_name="host1", port=9092)],
        ),
        7,
    )


def test_metadata_are_sent_to_all_brokers_with_all_endpoints() -> None:
    context = cluster_context((), ((1, 2),))
    endpoint = BrokerEndpoint("SECURE", "host1", 9093, security_protocol=1)
    context.register([LiveBroker(1, 300, (endpoint,), rack="a")])
    batch = BrokerRequestBatch(context)

    batch.add_update_metadata((ORDERS_0,), brokers=(1, 2))

    assert _sent(batch) == [
        BrokerRequest(
            1,
            UpdateMetadataRequest(
                controller_id=1,
                controller_epoch=7,
                broker_epoch=300,
                topic_states=[
                    UpdateMetadataTopicState(
                        topic_name="orders",
                        topic_id=ORDERS_ID,
                        partition_states=[
                            UpdateMetadataPartitionState(
                                partition_index=0,
                                controller_epoch=7,
                                leader=1,
                                leader_epoch=0,
                                isr=[1, 2],
                                zk_version=0,
                                replicas=[1, 2],
                                offline_replicas=[2],
                            )
                        ],
                    )
                ],
                live_brokers=[
                    UpdateMetadataBroker(
                        id=1,
                        endpoints=[
                            UpdateMetadataEndpoint(
                                port=9093, host="host1", listener="SECURE", security_protocol=1
                            )
                        ],
                        rack="a",
                    )
                ],
            ),
            8,
        )
    ]


def test_stopped_replica_is_sent_with_its_leader_epoch() -> None:
    context = cluster_context(leaderships={ORDERS_0: Leadership(1, 4, (1,))})
    batch = BrokerRequestBatch(context)

    batch.add_stop_replica(ORDERS_0, broker_id=3, is_deleted=True)

    state = StopReplicaPartitionState(partition_index=0, leader_epoch=4, delete_partition=True)
    topic = StopReplicaTopicState(topic_name="orders", partition_states=[state])
    request = StopReplicaRequest(
        controller_id=1, controller_epoch=7, broker_epoch=103, topic_states=[topic]
    )
    assert _sent(batch) == [BrokerRequest(3, request, 4)]


def test_requests_leave_in_the_order_leaderships_metadata_stops() -> None:
    context = cluster_context((1, 2))
    batch = BrokerRequestBatch(context)

    batch.add_stop_replica(ORDERS_0, broker_id=2, is_deleted=False)
    batch.add_leader_and_isr(ORDERS_0, brokers=(1,), is_new=False)

    kinds = [type(each.request).__name__ for each in _sent(batch)]
    assert kinds == [
        "LeaderAndIsrRequest",
        "UpdateMetadataRequest",
        "UpdateMetadataRequest",
        "StopReplicaRequest",
    ]


def test_every_request_can_be_written_in_its_version() -> None:
    context = cluster_context()
    batch = BrokerRequestBatch(context)
    batch.add_leader_and_isr(ORDERS_0, brokers=(1, 2, 3), is_new=True)
    batch.add_stop_replica(ORDERS_0, broker_id=2, is_deleted=True)

    for each in _sent(batch):
        assert encode(each.request, each.version)


def test_brokers_that_are_not_registered_get_nothing() -> None:
    context = cluster_context((1,))
    batch = BrokerRequestBatch(context)

    batch.add_leader_and_isr(ORDERS_0, brokers=(2,), is_new=False)
    batch.add_stop_replica(ORDERS_0, broker_id=3, is_deleted=False)

    assert _lines(context, batch) == [
        "UpdateMetadata of brokers 1 to 1",
        "  orders-0: leader 1, epoch 0, offline 2,3",
    ]


def test_replica_stays_new_and_deleted_in_one_batch() -> None:
    context = cluster_context()
    batch = BrokerRequestBatch(context)

    batch.add_leader_and_isr(ORDERS_0, brokers=(1, 3), is_new=True)
    batch.add_leader_and_isr(ORDERS_0, brokers=(1, 2, 3), is_new=False)
    batch.add_stop_replica(ORDERS_0, broker_id=3, is_deleted=True)
    batch.add_stop_replica(ORDERS_0, broker_id=3, is_deleted=False)

    assert _lines(context, batch) == [
        "LeaderAndIsr to 1,3",
        "  orders-0: leader 1, epoch 0, isr 1,2,3 of 1,2,3, new",
        "LeaderAndIsr to 2",
        "  orders-0: leader 1, epoch 0, isr 1,2,3 of 1,2,3",
        "UpdateMetadata of brokers 1,2,3 to 1,2,3",
        "  orders-0: leader 1, epoch 0",
        "StopReplica to 3",
        "  orders-0: epoch 0, deleted",
    ]


def test_topic_being_deleted_has_the_leader_minus_2() -> None:
    context = cluster_context((1, 2, 3))
    context.deletions.queued.add("orders")

    done = Performed(context, send_metadata(context, brokers=(1,), partitions=(ORDERS_0,)))

    assert done.lines[1:] == ["  orders-0: leader -2, epoch 0"]


def test_partition_that_was_never_led_is_left_out() -> None:
    context = cluster_context((1,))

    done = Performed(
        context, send_metadata(context, brokers=(1,), partitions=(partition("orders-4"),))
    )

    assert done.lines == ["UpdateMetadata of brokers 1 to 1"]


def test_sent_batch_is_empty() -> None:
    context = cluster_context()
    batch = BrokerRequestBatch(context)
    batch.add_leader_and_isr(ORDERS_0, brokers=(1,), is_new=False)
    _sent(batch)

    assert _sent(batch) == []
