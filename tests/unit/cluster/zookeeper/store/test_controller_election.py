"""Tests of the election of the controller."""

import asyncio
from functools import partial

import pytest

from cordwood.cluster.zookeeper.client.zookeeper_errors import SessionExpiredError
from cordwood.cluster.zookeeper.store.guarded_writes import ControllerGuard
from cordwood.cluster.zookeeper.store.metadata_event import SessionExpired
from cordwood.core.errors import StaleControllerEpochError
from tests.unit.cluster.zookeeper.store.store_world import Member, StoreWorld, play


def test_first_controller_has_the_epoch_1() -> None:
    async def scene(world: StoreWorld) -> tuple[ControllerGuard, int | None, dict[str, bytes]]:
        member = await world.member(4)
        assert await member.store.election.controller() is None
        return await member.elected(), await member.store.election.controller(), world.nodes()

    guard, controller, nodes = play(scene)

    assert (guard, controller) == (ControllerGuard(1, 1), 4)
    assert nodes["/controller_epoch"] == b"1"


@pytest.mark.parametrize("seed", range(40))
def test_one_of_the_brokers_that_fight_becomes_the_controller(seed: int) -> None:
    async def scene(world: StoreWorld) -> list[ControllerGuard | None]:
        members = [await world.member(each) for each in (1, 2, 3)]
        for member in members:
            at_ms, arriving = world.world.random.uniform(0, 20), world.world.random.randint(0, 2)
            world.world.after(at_ms, partial(member.client.break_connection, arriving))
        guards = await asyncio.gather(
            *(member.store.election.elect(member.broker_id) for member in members)
        )
        winner = await members[0].store.election.controller()
        assert [guard is not None for guard in guards] == [winner == each for each in (1, 2, 3)]
        return list(guards)

    guards = play(scene, seed=seed)

    assert [guard for guard in guards if guard is not None] == [ControllerGuard(1, 1)]


def test_next_controller_has_the_next_epoch_after_a_resignation() -> None:
    async def scene(world: StoreWorld) -> list[ControllerGuard]:
        first, second = await world.member(1), await world.member(2)
        guards = [await first.elected()]
        assert await second.store.election.elect(2) is None
        await first.store.election.resign(guards[0])
        guards.append(await second.elected())
        with pytest.raises(StaleControllerEpochError):
            await first.store.election.resign(guards[0])
        assert await first.store.election.controller() == 2
        return guards

    assert play(scene) == [ControllerGuard(1, 1), ControllerGuard(2, 2)]


def test_controller_is_elected_again_in_its_next_session() -> None:
    async def scene(world: StoreWorld) -> ControllerGuard:
        member = await world.member(1)
        await member.elected()
        world.server.expire(member.client.session_id)
        while not isinstance(await member.store.events.next(), SessionExpired):
            pass
        await member.restart_session()
        return await member.elected()

    assert play(scene) == ControllerGuard(2, 2)


async def _elect_with(
    world: StoreWorld, member: Member, *, at: int, arriving: int, expires: bool
) -> ControllerGuard | None:
    """Take part in an election whose connection breaks at one of its requests."""
    sent, session_id = [0], member.client.session_id

    def fault() -> None:
        member.client.break_connection(arriving)
        if expires:
            world.world.after(50, lambda: world.server.expire(session_id))

    def on_send() -> None:
        sent[0] += 1
        if sent[0] == at + 1:
            world.world.after(0, fault)

    member.client.on_send = on_send
    return await member.store.election.elect(member.broker_id)


#: An election of a new cluster: does the controller exist, read, create and read the epoch, claim.
STEPS = range(5)


@pytest.mark.parametrize("arriving", (0, 1))
@pytest.mark.parametrize("at", STEPS)
def test_election_survives_a_lost_connection_at_each_step(at: int, arriving: int) -> None:
    async def scene(world: StoreWorld) -> ControllerGuard | None:
        member = await world.member(1)
        return await _elect_with(world, member, at=at, arriving=arriving, expires=False)

    assert play(scene) == ControllerGuard(1, 1)


@pytest.mark.parametrize("arriving", (0, 1))
@pytest.mark.parametrize("at", STEPS)
def test_election_ends_with_the_session_at_each_step(at: int, arriving: int) -> None:
    async def scene(world: StoreWorld) -> ControllerGuard:
        member, other = await world.member(1), await world.member(2)
        with pytest.raises(SessionExpiredError):
            await _elect_with(world, member, at=at, arriving=arriving, expires=True)
        assert await other.store.election.controller() is None
        return await other.elected()

    # A claim that arrived in the session that ended has used its epoch.
    epoch = 2 if at == STEPS[-1] and arriving else 1
    assert play(scene) == ControllerGuard(epoch, epoch)
