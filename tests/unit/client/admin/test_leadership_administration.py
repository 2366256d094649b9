"""Calls about leaders and replicas, with three brokers in a cluster."""

from cordwood.client.admin.admin_client import Admin
from cordwood.client.admin.leadership_administration import ElectionType
from cordwood.core.errors import (
    ElectionNotNeededError,
    InvalidReplicaAssignmentError,
    NoReassignmentInProgressError,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from tests.unit.node.cluster_samples import (
    addresses,
    cluster,
    controller_of,
    create_orders,
    in_sync,
    leader_of,
    produce,
    until,
)
from tests.unit.node.node_samples import run

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))


def test_preferred_replica_leads_again_after_an_election() -> None:
    async def scene() -> None:
        async with cluster(1, 2, 3) as found:
            await create_orders(found)
            former = leader_of(found.brokers[1])
            await found.stop(former)
            broker = await found.start(former)
            await until(lambda: leader_of(broker) > 0 and in_sync(broker) == {1, 2, 3})
            assert leader_of(broker) != former
            async with Admin(addresses(found)) as admin:
                assert await admin.elect_leaders([ORDERS]) == {ORDERS: None}
                # The controller's broker answers when its own image has the leader.
                assert leader_of(await controller_of(found)) == former
                await until(lambda: leader_of(broker) == former)
                errors = await admin.elect_leaders(election=ElectionType.UNCLEAN)
                assert not errors
                (error,) = (await admin.elect_leaders([ORDERS])).values()
                assert isinstance(error, ElectionNotNeededError)

    run(scene())


def test_partition_moves_to_the_brokers_of_a_reassignment() -> None:
    async def scene() -> None:
        async with cluster(1, 2, 3) as found:
            await create_orders(found)
            await produce(found, b"a")
            async with Admin(addresses(found)) as admin:
                assert await admin.reassign({ORDERS: [2]}) == {ORDERS: None}
                await until(lambda: all(in_sync(each) == {2} for each in found.brokers.values()))
                await until(lambda: [*found.brokers[1].logs.logs] == [])
                assert not await admin.list_reassignments()
                (error,) = (await admin.reassign({ORDERS: None})).values()
                assert isinstance(error, NoReassignmentInProgressError)

    run(scene())


def test_move_to_a_broker_that_is_gone_is_refused() -> None:
    async def scene() -> None:
        async with cluster(1, 2, 3) as found:
            await create_orders(found)
            async with Admin(addresses(found)) as admin:
                assert await admin.reassign({ORDERS: [1]}) == {ORDERS: None}
                await until(lambda: in_sync(found.brokers[1]) == {1})
                await found.stop(3)
                await until(lambda: 3 not in found.brokers[1].metadata.image.brokers)
                (error,) = (await admin.reassign({ORDERS: [1, 3]})).values()
                assert isinstance(error, InvalidReplicaAssignmentError)
                assert not await admin.list_reassignments()

    run(scene())
