"""Tests of the registrations of brokers."""

import pytest

from cordwood.cluster.controller.context.live_broker import BrokerEndpoint, LiveBroker
from cordwood.cluster.zookeeper.client.zookeeper_client import CreateOp
from cordwood.cluster.zookeeper.client.zookeeper_errors import SessionExpiredError
from cordwood.cluster.zookeeper.store.metadata_event import SessionExpired
from cordwood.cluster.zookeeper.znodes.broker_znode import BrokerRegistration, encode_broker
from cordwood.core.errors import DuplicateBrokerRegistrationError
from tests.unit.cluster.zookeeper.store.store_world import Member, StoreWorld, play


def registration(broker_id: int, *, host: str = "h", rack: str | None = None) -> BrokerRegistration:
    endpoint = BrokerEndpoint("PLAINTEXT", host, 9092)
    return BrokerRegistration(broker_id=broker_id, endpoints=(endpoint,), rack=rack)


async def expire(world: StoreWorld, member: Member) -> None:
    world.server.expire(member.client.session_id)
    while not isinstance(await member.store.events.next(), SessionExpired):
        pass


def test_registered_brokers_are_live_with_their_epochs() -> None:
    async def scene(world: StoreWorld) -> tuple[list[LiveBroker], list[int]]:
        first, second = await world.member(10), await world.member(9)
        epochs = [
            await first.store.brokers.register(registration(10, rack="r1")),
            await second.store.brokers.register(registration(9)),
        ]
        return await first.store.brokers.live(), epochs

    live, epochs = play(scene)

    endpoints = (BrokerEndpoint("PLAINTEXT", "h", 9092),)
    assert live == [
        LiveBroker(9, epochs[1], endpoints),
        LiveBroker(10, epochs[0], endpoints, "r1"),
    ]
    assert epochs[1] > epochs[0] > 0


def test_duplicate_id_is_refused_with_the_address_of_the_other_broker() -> None:
    async def scene(world: StoreWorld) -> None:
        first, second = await world.member(1), await world.member(1)
        await first.store.brokers.register(registration(1, host="h1"))
        with pytest.raises(
            DuplicateBrokerRegistrationError,
            match=r"broker id 1: another broker is registered with it \(PLAINTEXT://h1:9092, Zoo",
        ):
            await second.store.brokers.register(registration(1, host="h2"))

    play(scene)


@pytest.mark.parametrize("arriving", (0, 1))
def test_registration_with_a_lost_connection_is_made_once(arriving: int) -> None:
    async def scene(world: StoreWorld) -> tuple[int, int]:
        member = await world.member(1)
        world.world.after(0, lambda: member.client.break_connection(arriving))
        epoch = await member.store.brokers.register(registration(1))
        return epoch, world.server.tree.get("/brokers/ids/1").stat.czxid

    epoch, created = play(scene)

    assert epoch == created


def test_broker_registers_again_with_a_larger_epoch_after_its_session() -> None:
    async def scene(world: StoreWorld) -> tuple[int, int]:
        member = await world.member(1)
        first = await member.store.brokers.register(registration(1))
        await expire(world, member)
        with pytest.raises(SessionExpiredError):
            await member.store.brokers.register(registration(1))
        await member.restart_session()
        return first, await member.store.brokers.register(registration(1))

    first, second = play(scene)

    assert second > first


def test_node_that_outlived_its_session_is_replaced_by_its_broker_alone() -> None:
    async def scene(world: StoreWorld) -> tuple[int, int]:
        member, other = await world.member(1), await world.member(1)
        await member.store.brokers.register(registration(1))
        session_id = member.client.session_id
        await expire(world, member)
        # ZOOKEEPER-2985: the node of the session is still there.
        world.server.tree.apply(
            [_ephemeral("/brokers/ids/1", registration(1))], session_id=session_id, now_ms=0
        )
        with pytest.raises(DuplicateBrokerRegistrationError):
            await other.store.brokers.register(registration(1))
        await member.restart_session()
        await member.store.brokers.register(registration(1))
        owner = world.server.tree.get("/brokers/ids/1").stat.ephemeral_owner
        return owner, member.client.session_id

    owner, session_id = play(scene)

    assert owner == session_id


def _ephemeral(path: str, broker: BrokerRegistration) -> CreateOp:
    return CreateOp(path, encode_broker(broker), ephemeral=True)


def test_update_keeps_the_epoch() -> None:
    async def scene(world: StoreWorld) -> tuple[int, LiveBroker]:
        member = await world.member(1)
        epoch = await member.store.brokers.register(registration(1))
        await member.store.brokers.update(registration(1, rack="r2"))
        return epoch, (await member.store.brokers.live())[0]

    epoch, broker = play(scene)

    assert (broker.epoch, broker.rack) == (epoch, "r2")


def test_id_of_a_killed_broker_is_free_after_its_session() -> None:
    async def scene(world: StoreWorld) -> float:
        killed, successor = await world.member(1), await world.member(1)
        await killed.store.brokers.register(registration(1))
        killed.client.cut()
        cut_ms = world.world.now_ms
        await successor.store.brokers.until_unregistered(1)
        await successor.store.brokers.register(registration(1))
        return world.world.now_ms - cut_ms

    assert 6_000 < play(scene) < 6_100


def test_generated_ids_are_above_the_reserved_ones() -> None:
    async def scene(world: StoreWorld) -> list[int]:
        brokers = (await world.member(-1)).store.brokers
        return [await brokers.next_broker_id(largest_reserved=1000) for _ in range(2)]

    assert play(scene) == [1001, 1002]
