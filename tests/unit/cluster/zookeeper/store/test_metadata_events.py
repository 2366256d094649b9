"""Tests of the stream of changes: sessions, lost connections, and that no change is missed."""

import asyncio
from contextlib import suppress
from functools import partial

import pytest

from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.zookeeper.client.zookeeper_errors import (
    SessionExpiredError,
    ZooKeeperError,
)
from cordwood.cluster.zookeeper.store.metadata_event import (
    BrokerModified,
    BrokersChanged,
    ControllerChanged,
    MetadataEvent,
    PartitionsChanged,
    SessionConnected,
    SessionExpired,
    SessionSuspended,
    TopicsChanged,
)
from cordwood.cluster.zookeeper.store.watched_subjects import Subject
from cordwood.core.errors import KafkaError
from tests.unit.cluster.zookeeper.store.store_values import TOPIC
from tests.unit.cluster.zookeeper.store.store_world import Member, StoreWorld, play
from tests.unit.cluster.zookeeper.store.test_watched_subjects import broker


def test_session_is_reported() -> None:
    async def scene(world: StoreWorld) -> list[MetadataEvent]:
        member = await world.member(1)
        seen = member.collect(world.world)
        member.client.break_connection()
        await world.settle()
        world.server.expire(member.client.session_id)
        await world.settle()
        await member.restart_session()
        await world.settle()
        return seen

    assert play(scene) == [
        SessionConnected(),
        SessionSuspended(),
        SessionConnected(),
        SessionSuspended(),
        SessionExpired(),
        SessionConnected(),
    ]


def test_change_without_a_connection_is_reported_after_it() -> None:
    async def scene(world: StoreWorld) -> list[MetadataEvent]:
        member, other = await world.member(1), await world.member(2)
        seen = member.collect(world.world)
        member.store.events.follow(Subject.TOPICS, Subject.CONTROLLER)
        await world.settle()
        member.client.cut()
        await other.store.topics.create("t", TOPIC, configs={})
        await world.settle()
        seen.clear()
        member.client.heal()
        await world.settle()
        return seen

    assert play(scene) == [SessionConnected(), TopicsChanged(), ControllerChanged(None)]


def test_nothing_is_followed_after_the_end_of_the_session() -> None:
    async def scene(world: StoreWorld) -> tuple[object, ...]:
        member, other = await world.member(1), await world.member(2)
        seen = member.collect(world.world)
        member.store.events.follow(Subject.CONTROLLER)
        await world.settle()
        world.server.expire(member.client.session_id)
        await world.settle()
        await member.restart_session()
        await other.elected()
        await world.settle()
        before = [*seen]
        member.store.events.follow(Subject.CONTROLLER)
        await world.settle()
        return before[-2:], seen[len(before) :]

    assert play(scene) == ([SessionExpired(), SessionConnected()], [ControllerChanged(2)])


def test_subject_that_is_no_longer_followed_is_silent() -> None:
    async def scene(world: StoreWorld) -> list[MetadataEvent]:
        member, other = await world.member(1), await world.member(2)
        seen = member.collect(world.world)
        member.store.events.follow(Subject.TOPICS, Subject.BROKERS)
        member.store.events.follow(Subject.TOPICS)
        await world.settle()
        member.store.events.unfollow(Subject.TOPICS)
        await other.store.topics.create("t", TOPIC, configs={})
        await world.settle()
        return seen

    assert play(scene) == [SessionConnected(), TopicsChanged(), BrokersChanged()]


@pytest.mark.parametrize("turns", range(12))
def test_cancelled_wait_loses_no_event(turns: int) -> None:
    async def scene(world: StoreWorld) -> list[MetadataEvent]:
        member, events = await world.member(1), []
        member.store.events.follow(Subject.TOPICS)
        events += await member.events(1)
        waiting = world.world.loop.create_task(member.store.events.next())
        await world.settle(turns)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            events.append(await waiting)
        seen = member.collect(world.world)
        await world.settle()
        return [*events, *seen]

    assert play(scene) == [SessionConnected(), TopicsChanged()]


class Follower:
    """A receiver that reads again after each event, as the controller does."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.topics: object = None
        self.brokers: object = None
        self.controller: int | None = -1

    async def follow(self) -> None:
        store = self.member.store
        subjects = (Subject.TOPICS, Subject.BROKERS, Subject.CONTROLLER)
        store.events.follow(*subjects)
        while True:
            event = await store.events.next()
            try:
                await self._handle(event)
            except SessionExpiredError:
                continue
            if isinstance(event, SessionExpired):
                with suppress(SessionExpiredError):
                    await store.start()
                store.events.follow(*subjects)

    async def _handle(self, event: MetadataEvent) -> None:
        store = self.member.store
        if isinstance(event, TopicsChanged | PartitionsChanged):
            self.topics = await store.topics.read(await store.topics.names())
        elif isinstance(event, BrokersChanged | BrokerModified):
            self.brokers = await store.brokers.live()
        elif isinstance(event, ControllerChanged):
            self.controller = event.controller_id


async def change_at_random(world: StoreWorld, writer: Member) -> None:
    """Make random changes at random times."""
    random = world.world.random
    for _ in range(40):
        await world.settle(random.choice((0.5, 5, 50)))
        with suppress(KafkaError, ZooKeeperError):
            await change_once(world, writer, kind=random.randrange(6))
    await writer.store.election.elect(writer.broker_id)


async def change_once(world: StoreWorld, writer: Member, *, kind: int) -> None:
    random, store = world.world.random, writer.store
    topic = f"t{random.randrange(3)}"
    if kind <= 1:
        await store.topics.create(topic, TOPIC, configs={})
    elif kind == 2:
        partitions = {each: ReplicaAssignment((each,)) for each in range(random.randrange(4))}
        await store.topics.write_assignment(topic, partitions)
    elif kind == 3:
        guard = await store.election.elect(writer.broker_id)
        assert guard is not None
        await store.topics.delete(topic, guard)
        await store.election.resign(guard)
    elif kind == 4:
        await store.brokers.register(broker("r"))
        await store.brokers.update(broker(f"r{random.randrange(5)}"))
    else:
        await writer.client.delete("/brokers/ids/2")


@pytest.mark.parametrize("seed", range(60))
def test_follower_sees_the_last_state_after_any_faults(seed: int) -> None:
    async def scene(world: StoreWorld) -> None:
        random = world.world.random
        follower, writer = Follower(await world.member(1)), await world.member(2)
        world.world.begin(follower.follow())
        for _ in range(6):
            at_ms, arriving = random.uniform(0, 1_500), random.randint(0, 2)
            world.world.after(at_ms, partial(follower.member.client.break_connection, arriving))
        if seed % 3 == 0:
            world.world.after(
                random.uniform(0, 1_500),
                lambda: world.server.expire(follower.member.client.session_id),
            )
        await change_at_random(world, writer)
        await world.settle(20_000)

        store = writer.store
        assert follower.topics == await store.topics.read(await store.topics.names())
        assert follower.brokers == await store.brokers.live()
        assert follower.controller == await store.election.controller() == 2

    play(scene, seed=seed)
