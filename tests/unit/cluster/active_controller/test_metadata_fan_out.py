"""Tests of the fan-out of the stream of changes."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from cordwood.client.network.runtime import ClientRuntime
from cordwood.cluster.active_controller.controller_host import (
    BrokerEvent,
    ControllerReport,
    ProcessingFailed,
)
from cordwood.cluster.active_controller.metadata_fan_out import MetadataFanOut
from cordwood.cluster.zookeeper.client.zookeeper_errors import SessionExpiredError
from cordwood.cluster.zookeeper.store.metadata_event import (
    BrokersChanged,
    ConfigChanged,
    ControllerChanged,
    DeletionsRequested,
    MetadataEvent,
    SessionConnected,
    SessionExpired,
    SessionSuspended,
    TopicsChanged,
)
from cordwood.cluster.zookeeper.store.watched_subjects import Subject
from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntity
from cordwood.testing.seeded_random import SeededRandom
from tests.unit.cluster.zookeeper.store.store_values import TOPIC
from tests.unit.cluster.zookeeper.store.store_world import StoreWorld


class FanOutWorld:
    """A broker with a fan-out, and what its two sides have got."""

    def __init__(self) -> None:
        self.keeper = StoreWorld()
        self.of_broker = list[BrokerEvent]()
        self.of_controller = list[MetadataEvent]()
        self.controllers = list[int | None]()
        self.reports = list[ControllerReport]()

    async def start(self) -> None:
        world = self.keeper.world
        self.member = await self.keeper.member(1)
        self.fan_out = MetadataFanOut(
            self.member.store.events,
            ClientRuntime(world.clock, world.clock, SeededRandom(1)),
            host=self,
            on_event=self.of_controller.append,
        )
        world.begin(self.fan_out.run())
        self.fan_out.begin_session()
        await self.keeper.settle()

    def is_unclean_election_enabled(self) -> bool:
        return False

    def on_controller_changed(self, controller_id: int | None) -> None:
        self.controllers.append(controller_id)

    def on_event(self, event: BrokerEvent) -> None:
        self.of_broker.append(event)

    def on_report(self, report: ControllerReport) -> None:
        self.reports.append(report)


def play(scene: Callable[[FanOutWorld], Awaitable[None]]) -> None:
    """Run a scene after the start."""

    async def run(world: FanOutWorld) -> None:
        await world.start()
        await scene(world)

    world = FanOutWorld()
    world.keeper.run(run(world))


def test_each_side_gets_its_events() -> None:
    async def scene(world: FanOutWorld) -> None:
        entities = (ConfigEntity("topics", "t"),)
        await world.member.store.configs.write(entities, {"retention.ms": "1"})
        await world.member.elected()
        await world.keeper.settle()

        assert world.of_broker == [SessionConnected(), ConfigChanged(entities)]
        assert world.of_controller == [ControllerChanged(None), ControllerChanged(1)]
        assert world.controllers == [1]

    play(scene)


def test_end_of_the_session_reaches_both_sides() -> None:
    async def scene(world: FanOutWorld) -> None:
        await world.member.elected()
        await world.keeper.settle()
        world.keeper.server.expire(world.member.client.session_id)
        await world.keeper.settle()

        assert world.of_broker[-2:] == [SessionSuspended(), SessionExpired()]
        assert world.of_controller[-1] == SessionExpired()
        assert world.controllers == [1, None]

        await world.member.restart_session()
        world.fan_out.begin_session()
        await world.member.elected()
        await world.keeper.settle()

        assert world.controllers == [1, None, 1]

    play(scene)


def test_follow_returns_when_the_watches_are_left() -> None:
    async def scene(world: FanOutWorld) -> None:
        await world.member.store.topics.create("t", TOPIC, configs={})
        await world.fan_out.follow(Subject.TOPICS)
        assert world.of_controller[1:] == [TopicsChanged()]
        await world.fan_out.follow(Subject.BROKERS)
        assert world.of_controller[2:] == [BrokersChanged()]
        count = len(world.of_controller)
        await world.fan_out.follow(Subject.TOPICS)
        await world.keeper.settle()
        assert len(world.of_controller) == count

        await world.fan_out.follow(Subject.DELETIONS)
        await world.member.store.topics.request_deletion("t")
        await world.keeper.settle()

        assert world.of_controller[-1] == DeletionsRequested()

    play(scene)


def test_follow_fails_with_the_session() -> None:
    async def scene(world: FanOutWorld) -> None:
        world.member.client.cut()
        following = asyncio.ensure_future(world.fan_out.follow(Subject.BROKERS))
        await world.keeper.settle(10_000)
        world.member.client.heal()
        with pytest.raises(SessionExpiredError):
            await following

    play(scene)


def test_subjects_of_the_controller_end_with_its_role() -> None:
    async def scene(world: FanOutWorld) -> None:
        await world.fan_out.follow(Subject.TOPICS)
        world.fan_out.unfollow_all()
        count = len(world.of_controller)
        await world.member.store.topics.create("t", TOPIC, configs={})
        await world.keeper.settle()
        assert len(world.of_controller) == count

        await world.fan_out.follow(Subject.TOPICS)

        assert world.of_controller[count:] == [TopicsChanged()]

    play(scene)


def test_damaged_node_is_reported_and_read_again_after_a_pause() -> None:
    async def scene(world: FanOutWorld) -> None:
        client = world.member.client
        await client.create("/controller", b"?")
        await world.keeper.settle(3_500)
        count = len(world.reports)
        await client.set("/controller", b'{"brokerid":5}')
        await world.keeper.settle(3_500)

        assert 3 <= count <= 4
        assert all(isinstance(each, ProcessingFailed) for each in world.reports)
        assert world.controllers == [5]

    play(scene)


def test_damaged_notification_is_reported() -> None:
    async def scene(world: FanOutWorld) -> None:
        await world.member.client.create("/config/changes/config_change_", b"?", sequential=True)
        await world.keeper.settle()

        assert len(world.reports) == 1
        assert world.of_broker == [SessionConnected()]

    play(scene)
