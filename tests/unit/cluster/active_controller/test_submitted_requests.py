"""Requests to a controller, through the store and by brokers, in virtual time."""

import pytest

from cordwood.cluster.controller.context.leadership import NO_LEADER
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.core.errors import (
    NotControllerError,
    StaleBrokerEpochError,
)
from cordwood.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from cordwood.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from cordwood.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from tests.unit.cluster.active_controller.controller_steps import T_0, alter_isr, led
from tests.unit.cluster.active_controller.controller_world import (
    ControllerWorld,
    partition,
    play,
)

SESSION_MS = 8_000

# Topics


def test_topic_grows_in_the_store() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2)
        await world.create("t", (1,))
        await world.settle()
        store = await world.store()
        grown = {0: ReplicaAssignment((1,)), 1: ReplicaAssignment((2,))}
        await store.topics.write_assignment("t", grown)
        await world.settle()

        assert world.hosts[2].model.replicas[partition("t", 1)].leader == 2

    play(scene)


def test_change_of_a_topic_during_the_failover_is_not_missed() -> None:
    """The watches of the topics are left before the first reading."""

    async def scene(world: ControllerWorld, after_ms: float) -> None:
        await world.start(9)
        await world.create("t", (9,))
        await world.settle()
        store = await world.store()
        await world.hosts[9].controller.resign()
        await world.settle(after_ms)
        grown = {each: ReplicaAssignment((9,)) for each in range(2)}
        await store.topics.write_assignment("t", grown)
        await world.settle()

        assert partition("t", 1) in world.hosts[9].model.replicas

    for after_ms in range(0, 100, 3):
        play(lambda world, at=after_ms: scene(world, at))  # type: ignore[misc]  # inferred


def test_topic_is_deleted_on_request_in_the_store() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2)
        await world.create("t", (1, 2))
        await world.settle()
        store = await world.store()
        await store.topics.request_deletion("t")
        await world.settle()

        assert await store.topics.names() == []
        assert not await store.administration.deletions()
        assert T_0 not in world.hosts[1].model.replicas
        assert T_0 not in world.hosts[2].model.metadata

    play(scene)


# Requests in the store, and through `submit`


def test_reassignment_in_the_store_is_completed_by_the_new_replica() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2, 3)
        await world.create("t", (1, 2))
        await world.settle()
        await world.request_reassignment({T_0: (2, 3)})
        await world.settle()
        assert world.hosts[3].model.replicas[T_0].leader == 1

        await alter_isr(world, world.hosts[1], [1, 2, 3])
        await world.settle()

        stored = (await (await world.store()).topics.read(["t"]))["t"]
        assert stored.partitions[0] == ReplicaAssignment((2, 3))
        assert T_0 not in world.hosts[1].model.replicas
        assert world.hosts[3].model.replicas[T_0].leader == 2

    play(scene)


def test_reassignment_through_the_api_is_listed_until_it_is_complete() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2)
        await world.create("t", (1,))
        await world.settle()
        controller = world.controller.controller
        wanted = ReassignablePartition(partition_index=0, replicas=[2])
        begun = await controller.submit(
            AlterPartitionReassignmentsRequest(
                topics=[ReassignableTopic(name="t", partitions=[wanted])]
            ),
            AlterPartitionReassignmentsResponse,
            version=0,
        )
        assert begun.responses[0].partitions[0].error_code == 0

        async def listed() -> int:
            response = await controller.submit(
                ListPartitionReassignmentsRequest(topics=None),
                ListPartitionReassignmentsResponse,
                version=0,
            )
            return len(response.topics)

        assert await listed() == 1
        await world.settle()
        await alter_isr(world, world.hosts[1], [1, 2])
        assert await listed() == 0

    play(scene)


def test_preferred_leader_is_elected_on_request() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2)
        await world.create("t", (2, 1))
        await world.settle()
        await world.hosts[2].stop()
        await world.settle()
        await world.hosts[2].restart()
        await world.settle()
        await alter_isr(world, world.hosts[1], [1, 2])
        response = await world.controller.controller.submit(
            ElectLeadersRequest(topic_partitions=None), ElectLeadersResponse, version=2
        )

        (result,) = response.replica_election_results
        assert [each.error_code for each in result.partition_result] == [0]
        leadership = await world.leadership("t")
        assert leadership is not None
        assert leadership.leader == 2

    play(scene)


def test_preferred_leaders_are_elected_by_the_timer() -> None:
    async def scene(world: ControllerWorld) -> None:
        world.rebalance_interval_ms = 10_000
        await world.start(1, 2)
        await world.create("t", (2, 1))
        await world.settle()
        await world.hosts[2].stop()
        await world.settle()
        await world.hosts[2].restart()
        await world.settle()
        await world.settle(5_000)
        await alter_isr(world, world.hosts[1], [1, 2])
        await world.settle()
        assert world.hosts[2].model.replicas[T_0].leader == 1, "the first check was before"
        await world.settle(10_000)

        assert world.hosts[2].model.replicas[T_0].leader == 2

    play(scene)


def test_election_in_the_store_is_removed_when_it_is_done() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1)
        await world.create("t", (1,))
        await world.settle()
        await world.request_election([T_0])
        await world.settle()

        assert await (await world.store()).administration.elections() == ()

    play(scene)


def test_unclean_leader_is_elected_once_it_is_enabled() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2, 3)
        await world.create("t", (3, 2))
        await world.settle()
        await alter_isr(world, world.hosts[3], [3])
        await world.hosts[3].stop()
        await world.settle()
        leadership = await world.leadership("t")
        assert leadership is not None
        assert leadership.leader == NO_LEADER

        world.hosts[1].allows_unclean = True
        world.hosts[1].controller.enable_unclean_elections()
        await world.settle()

        assert world.hosts[2].model.replicas[T_0].leader == 2
        assert world.hosts[2].model.replicas[T_0].is_recovering

    play(scene)


def test_producer_ids_are_allocated_to_a_registered_broker() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2)
        controller, epoch = world.controller.controller, world.hosts[2].model.epoch
        blocks = [await controller.allocate_producer_ids(2, broker_epoch=epoch) for _ in "ab"]

        assert blocks == [range(1_000), range(1_000, 2_000)]
        with pytest.raises(StaleBrokerEpochError):
            await controller.allocate_producer_ids(2, broker_epoch=epoch - 1)

    play(scene)


def test_request_to_a_broker_that_is_not_the_controller_is_rejected() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2)
        with pytest.raises(NotControllerError, match="broker 2 is not the controller"):
            await world.hosts[2].controller.allocate_producer_ids(1, broker_epoch=1)

    play(scene)


# In-sync sets and log directories that brokers report through the store


def test_notifications_are_removed_once_they_are_handled() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2)
        await world.create("t", (1, 2))
        await world.settle()
        world.hosts[2].model.offline.add(T_0)
        store = await world.store()
        await store.notifications.notify_isr_changes([T_0])
        await store.notifications.notify_log_dir_failure(2)
        await world.settle()

        assert await world.leadership("t") == led(1, (1,), epochs=(1, 1, 1))
        nodes = world.keeper.nodes()
        assert not [each for each in nodes if "isr_change_0" in each or "log_dir_event_0" in each]

    play(scene)
