"""Tests of the controller in one broker, among others in virtual time."""

import asyncio
from contextlib import suppress
from functools import partial

import pytest

from cordwood.cluster.active_controller.active_controller import SMALL_CLUSTER
from cordwood.cluster.active_controller.controller_host import ProcessingFailed, RequestFailed
from cordwood.cluster.zookeeper.client.zookeeper_client import SetDataOp
from cordwood.cluster.zookeeper.store.metadata_event import (
    ConfigChanged,
    SessionConnected,
    SessionExpired,
)
from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntity
from cordwood.core.errors import (
    InvalidRequestError,
    NotControllerError,
)
from cordwood.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from tests.unit.cluster.active_controller.controller_steps import T_0, alter_isr, led
from tests.unit.cluster.active_controller.controller_world import (
    ControllerWorld,
    partition,
    play,
)

SESSION_MS = 8_000

# Elections


def test_one_of_three_brokers_is_elected() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2, 3)

        assert world.controller.broker_id == 1
        assert world.controller.controller.epoch == 1
        assert [each.controller_ids for each in world.hosts.values()] == [[1], [1], [1]]
        for host in world.hosts.values():
            assert host.model.live_brokers == {1, 2, 3}

    play(scene)


def test_crashed_controller_is_replaced_when_its_session_ends() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2, 3)
        await world.create("t", (1, 2, 3))
        await world.settle()
        await world.hosts[1].crash()
        await world.settle(SESSION_MS)

        assert world.controller.controller.epoch == 2
        assert await world.leadership("t") == led(2, (2, 3), epochs=(2, 2, 2))
        for host in (world.hosts[2], world.hosts[3]):
            assert host.controller_ids[-1] == world.controller.broker_id
            assert host.model.replicas[T_0].leader == 2

    play(scene)


def test_controller_that_stops_is_replaced_at_once() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2)
        await world.hosts[1].stop()
        await world.settle(200)

        assert world.controller is world.hosts[2]
        assert not world.hosts[1].controller.is_active
        assert world.hosts[1].roles == ["began 1", "ended 1"]

    play(scene)


def test_controller_that_resigns_takes_part_in_the_next_election() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1)
        await world.hosts[1].controller.resign()
        await world.settle(200)

        assert world.hosts[1].roles == ["began 1", "ended 1", "began 2"]
        assert world.controller.controller.epoch == 2

    play(scene)


def test_controller_whose_node_is_removed_ends_its_role() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2)
        administrator = await world.keeper.member(99)
        await administrator.client.delete("/controller")
        await world.settle()

        assert world.controller.controller.epoch == 2
        assert "ended 1" in world.hosts[1].roles

    play(scene)


# A controller that is replaced, and does not know it yet


def test_write_of_a_replaced_controller_is_rejected_and_ends_its_role() -> None:
    """Its watches are late, so the rejection comes first."""

    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2)
        await world.create("t", (1, 2))
        await world.settle()
        tree = world.keeper.server.tree
        epoch = tree.get("/controller_epoch")
        tree.apply(
            [SetDataOp("/controller_epoch", b"7", epoch.stat.version)], session_id=0, now_ms=0
        )

        with pytest.raises(NotControllerError):
            await alter_isr(world, world.hosts[1], [1])

        assert await world.leadership("t") == led(1, (1, 2), epochs=(0, 0, 1))
        assert world.hosts[1].roles == ["began 1", "ended 1"]

    play(scene)


def test_controller_without_a_connection_is_replaced_and_returns_as_a_broker() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2, 3)
        world.hosts[1].member.client.cut()
        await world.settle(SESSION_MS)
        assert world.hosts[1].controller.is_active, "it cannot know yet"
        await world.create("t", (2, 3))
        await world.settle()
        assert world.hosts[2].model.live_brokers == {2, 3}

        world.hosts[1].member.client.heal()
        await world.settle()

        assert world.hosts[1].events.count(SessionExpired()) == 1
        assert world.hosts[1].roles == ["began 1", "ended 1"]
        assert world.controller.controller.epoch == 2
        assert world.hosts[2].model.live_brokers == {1, 2, 3}

    play(scene)


def test_requests_of_a_replaced_controller_are_rejected_by_brokers() -> None:
    """It repeats them, since it has no connection to ZooKeeper and cannot know yet."""

    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2, 3)
        world.hosts[3].peer.is_up = False
        await world.create("t", (3, 2))
        await world.settle()
        world.hosts[1].member.client.cut()
        await world.settle(SESSION_MS)
        world.hosts[3].peer.is_up = True
        await world.settle()

        epochs = [getattr(each, "controller_epoch", 0) for each in world.hosts[3].peer.handled]
        assert {1, 2} <= {*epochs[-10:]}
        stored, hosted = await world.leadership("t"), world.hosts[3].model.replicas[T_0]
        assert stored is not None
        assert (stored.leader, stored.leader_epoch) == (hosted.leader, hosted.leader_epoch)
        assert world.hosts[3].model.live_brokers == {2, 3}

    play(scene)


# The session


def test_controller_whose_session_ends_is_elected_again_in_the_next_one() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1)
        await world.create("t", (1,))
        await world.settle()
        world.keeper.server.expire(world.hosts[1].member.client.session_id)
        await world.settle()

        assert world.hosts[1].roles == ["began 1", "ended 1", "began 2"]
        assert world.hosts[1].controller_ids == [1, None, 1]
        leadership = await world.leadership("t")
        assert leadership is not None
        assert leadership.leader == 1

    play(scene)


def test_end_of_a_session_does_not_end_a_role_of_the_next_one() -> None:
    """The election begins before the end of the session, and is repeated in the next one."""

    async def scene(world: ControllerWorld, after_ms: float) -> None:
        await world.start(1, 2)
        await world.hosts[1].stop()
        await world.settle(after_ms)
        world.keeper.server.expire(world.hosts[2].member.client.session_id)
        await world.settle()

        assert world.controller is world.hosts[2]

    for after_ms in range(30):
        play(partial(scene, after_ms=after_ms))


def test_controller_that_meets_a_later_epoch_is_elected_until_it_is_the_latest() -> None:
    """Leaderships of a later epoch are there after the loss of the epoch's node."""

    async def scene(world: ControllerWorld) -> None:
        await world.start(1)
        await world.create("t", (1,))
        await world.settle()
        state = b'{"leader":1,"leader_epoch":3,"controller_epoch":4,"isr":[1],"version":1}'
        await world.write("/brokers/topics/t/partitions/0/state", state)
        await world.hosts[1].controller.resign()
        await world.settle()

        assert world.hosts[1].roles[-3:] == ["began 3", "ended 3", "began 4"]

    play(scene)


def test_broker_without_a_session_is_not_active() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1)
        world.hosts[1].returns = False
        world.keeper.server.expire(world.hosts[1].member.client.session_id)
        await world.settle()

        assert not world.hosts[1].controller.is_active
        assert world.hosts[1].controller.epoch is None
        with pytest.raises(NotControllerError):
            await world.hosts[1].controller.allocate_producer_ids(1, broker_epoch=1)
        await world.hosts[1].controller.resign()

    play(scene)


# Brokers


def test_broker_that_crashes_loses_its_leaderships_and_returns_as_a_follower() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2, 3)
        await world.create("t", (3, 2))
        await world.settle()
        await world.hosts[3].crash()
        await world.settle(SESSION_MS)
        assert await world.leadership("t") == led(2, (2,), epochs=(1, 1, 1))

        await world.hosts[3].restart()
        await world.settle()

        assert world.hosts[3].model.replicas[T_0].leader == 2
        assert (await alter_isr(world, world.hosts[2], [2, 3])).error_code == 0
        assert await world.leadership("t") == led(2, (2, 3), epochs=(1, 2, 1))

    play(scene)


def test_broker_that_never_answers_holds_up_no_other_one() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2, 3)
        world.hosts[3].peer.is_deaf = True
        await world.create("t", (3, 2), (2, 3))
        await world.settle()
        assert world.hosts[2].model.replicas[partition("t", 1)].leader == 2

        world.hosts[3].peer.is_deaf = False
        await world.settle(40_000)

        assert world.hosts[3].model.replicas[T_0].leader == 3
        assert any(isinstance(each, RequestFailed) for each in world.hosts[1].reports)

    play(scene)


def test_requests_whose_responses_are_lost_are_repeated() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2)
        world.hosts[2].peer.loses_responses = 3
        await world.create("t", (2, 1))
        await world.settle()

        assert world.hosts[2].model.replicas[T_0].leader == 2
        assert world.hosts[2].peer.most_in_flight == 1
        kinds = [type(each).__name__ for each in world.hosts[2].peer.handled[-5:]]
        assert kinds == ["LeaderAndIsrRequest"] * 4 + ["UpdateMetadataRequest"]

    play(scene)


def test_controlled_shutdown_moves_leaders() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2, 3)
        await world.create("t", (2, 3))
        await world.settle()
        request = ControlledShutdownRequest(broker_id=2, broker_epoch=world.hosts[2].model.epoch)
        response = await world.controller.controller.submit(
            request, ControlledShutdownResponse, version=3
        )
        await world.settle()

        assert response.error_code == 0
        assert not response.remaining_partitions
        assert world.hosts[3].model.replicas[T_0].leader == 3

    play(scene)


# Many partitions


def test_steps_about_many_partitions_run_on_the_worker() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1)
        host = world.hosts[1]
        before = host.worker.calls
        await host.controller.allocate_producer_ids(1, broker_epoch=host.model.epoch)
        assert host.worker.calls == before, "a small cluster"

        await world.create("many", *[(1,)] * (SMALL_CLUSTER + 1))
        await world.settle(20_000)
        assert len(host.model.replicas) == SMALL_CLUSTER + 1
        before = host.worker.calls
        await host.controller.allocate_producer_ids(1, broker_epoch=host.model.epoch)

        assert host.worker.calls > before

    play(scene)


# The broker's own events


def test_changed_configuration_is_passed_to_every_broker() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1, 2)
        entities = (ConfigEntity("topics", "t"),)
        await (await world.store()).configs.write(entities, {"retention.ms": "1"})
        await world.settle()

        for host in world.hosts.values():
            assert ConfigChanged(entities) in host.events

    play(scene)


# Damage and errors


def test_damaged_topic_leaves_the_others_with_a_controller() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1)
        await world.create("t", (1,))
        await world.create("bad", (1,))
        await world.settle()
        administrator = await world.keeper.member(98)
        await administrator.client.set("/brokers/topics/bad", b"?")
        await world.hosts[1].controller.resign()
        await world.settle()

        assert world.controller.controller.epoch == 2
        assert world.hosts[1].model.replicas[T_0].leader == 1
        failures = [each for each in world.hosts[1].reports if isinstance(each, ProcessingFailed)]
        assert failures

    play(scene)


def test_broken_failover_ends_in_a_resignation_and_is_repeated_with_a_pause() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1)
        administrator = await world.keeper.member(98)
        node = await administrator.client.get("/brokers/ids/1")
        await administrator.client.set("/brokers/ids/1", b"?")
        await world.hosts[1].controller.resign()
        await world.settle(2_500)
        broken = len(world.hosts[1].roles)
        await administrator.client.set("/brokers/ids/1", node.data)
        await world.settle(2_500)

        assert 4 <= broken <= 8, "a pause after each"
        assert world.controller.broker_id == 1

    play(scene)


def test_election_that_fails_is_repeated_with_a_pause() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1)
        await world.write("/controller_epoch", b"?")
        await world.delete("/controller")
        await world.settle(3_500)
        failures = [each for each in world.hosts[1].reports if isinstance(each, ProcessingFailed)]
        await world.write("/controller_epoch", b"7")
        await world.settle(2_000)

        assert 3 <= len(failures) <= 4
        assert world.controller.controller.epoch == 8

    play(scene)


def test_flow_does_not_continue_in_the_next_session() -> None:
    """A step on the worker ends after the end of the session, and after the next election."""

    async def scene(world: ControllerWorld, after_ms: float) -> None:
        await world.start(1)
        host = world.hosts[1]
        await world.create("t", (1,))
        await world.settle()
        host.worker.delay_ms = 400
        await host.controller.resign()
        await world.settle(after_ms)
        world.keeper.server.expire(host.member.client.session_id)
        await world.settle(250)
        assert host.events[-1] == SessionConnected(), "the next session has begun"
        count = len(host.peer.handled)
        await world.settle(12_000)

        epochs = [getattr(each, "controller_epoch", 0) for each in host.peer.handled[count:]]
        assert {*epochs} == {3}
        assert host.roles[-3:] == ["began 2", "ended 2", "began 3"]

    for after_ms in range(100, 3_200, 150):
        play(partial(scene, after_ms=after_ms))


def test_stopped_broker_leaves_no_timer_behind() -> None:
    async def scene(world: ControllerWorld) -> None:
        world.rebalance_interval_ms = 10_000
        await world.start(1)
        await world.hosts[1].stop()
        await world.settle()

        assert world.keeper.world.clock.next_call_ms() is None

    play(scene)


def test_stop_at_any_moment_leaves_no_task_behind() -> None:
    async def scene(world: ControllerWorld, after_ms: float) -> None:
        await world.start(1, 2)
        await world.create("t", (2, 1), (1, 2))
        await world.hosts[1].controller.resign()
        await world.settle(after_ms)
        before = asyncio.all_tasks(world.keeper.world.loop)
        stopped = world.hosts.values()
        await asyncio.gather(*(each.controller.stop() for each in stopped))

        ended = {each for each in before if each.done()}
        assert all(each.is_closed for each in world.channels.opened)
        assert not any(each.peer.in_flight for each in stopped)
        assert len(ended) >= 4, "two tasks of each broker"
        names = {repr(each.get_coro()) for each in before - ended}
        assert not [each for each in names if "ActiveController" in each or "Queue" in each]

    for after_ms in range(0, 120, 2):
        play(partial(scene, after_ms=after_ms))


def test_stop_during_a_flow_leaves_no_caller_and_no_task_behind() -> None:
    async def scene(world: ControllerWorld) -> None:
        await world.start(1)
        host = world.hosts[1]
        host.member.client.cut()
        tasks = [
            asyncio.ensure_future(
                host.controller.allocate_producer_ids(1, broker_epoch=host.model.epoch)
            )
            for _ in range(3)
        ]
        await world.settle(10)
        await host.controller.stop()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)

        assert [type(each) for each in outcomes] == [NotControllerError] * 3
        assert all(each.is_closed for each in world.channels.opened)
        with suppress(InvalidRequestError):
            host.controller.start()
            pytest.fail("a stopped controller does not start again")

    play(scene)
