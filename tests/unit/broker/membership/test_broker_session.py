"""Tests of the registration of a broker and of its sessions."""

import pytest

from cordwood.broker.membership.broker_session import BrokerSession
from cordwood.cluster.controller.context.live_broker import UNKNOWN_BROKER_EPOCH, BrokerEndpoint
from cordwood.cluster.zookeeper.store.metadata_event import SessionExpired
from cordwood.cluster.zookeeper.znodes.broker_znode import BrokerRegistration
from cordwood.core.errors import DuplicateBrokerRegistrationError
from tests.unit.cluster.zookeeper.store.store_world import Member, StoreWorld, play


def registration(*, host: str = "h") -> BrokerRegistration:
    return BrokerRegistration(
        broker_id=1, endpoints=(BrokerEndpoint("PLAINTEXT", host, 9092),), timestamp_ms=7
    )


def session_of(member: Member, events: list[str]) -> BrokerSession:
    return BrokerSession(member.store, on_event=events.append)


def test_broker_has_the_epoch_of_its_registration() -> None:
    async def scene(world: StoreWorld) -> None:
        member = await world.member(1)
        session = session_of(member, [])
        assert session.broker_epoch == UNKNOWN_BROKER_EPOCH

        await session.register(registration())

        (live,) = await member.store.brokers.live()
        assert live.epoch == session.broker_epoch > 0

    play(scene)


def test_broker_registers_again_in_the_next_session() -> None:
    async def scene(world: StoreWorld) -> None:
        member = await world.member(1)
        session = session_of(member, [])
        await session.register(registration())
        before = session.broker_epoch
        world.server.expire(member.client.session_id)
        while not isinstance(await member.store.events.next(), SessionExpired):
            pass
        session.expire()

        await session.begin_again()

        (live,) = await member.store.brokers.live()
        assert live.epoch == session.broker_epoch > before

    play(scene)


def test_registration_that_has_failed_is_repeated_in_the_same_session() -> None:
    async def scene(world: StoreWorld) -> None:
        member = await world.member(1)
        session = session_of(member, [])
        await session.register(registration())
        before, session_id = session.broker_epoch, member.client.session_id

        await session.begin_again()

        assert (session.broker_epoch, member.client.session_id) == (before, session_id)

    play(scene)


def test_successor_of_a_killed_process_waits_for_the_end_of_its_session() -> None:
    async def scene(world: StoreWorld) -> list[str]:
        killed, member = await world.member(1), await world.member(1)
        await session_of(killed, []).register(registration())
        killed.client.cut()
        events = list[str]()

        await session_of(member, events).register(registration())

        assert len(await member.store.brokers.live()) == 1
        return events

    (event,) = play(scene)
    assert event == "broker 1 waits for the end of its former session in ZooKeeper"


def test_id_of_a_broker_at_another_address_is_refused() -> None:
    async def scene(world: StoreWorld) -> None:
        other, member = await world.member(1), await world.member(1)
        await session_of(other, []).register(registration(host="other"))

        with pytest.raises(DuplicateBrokerRegistrationError, match="PLAINTEXT://other:9092"):
            await session_of(member, []).register(registration())

    play(scene)
