"""Brokers that fight for the controller and write, among lost connections and ended sessions.

    epochs    each claim has an epoch of its own
    writes    a stored leadership has the controller epoch that was the latest one at its write
    answers   a write that was answered as done is stored, with its partition epoch

A controller is deposed by the end of its session, or by an administrator.
"""

import json
from collections import Counter
from contextlib import suppress
from functools import partial

import pytest

from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.zookeeper.client.zookeeper_client import (
    DeleteOp,
    MultiOp,
    MultiResult,
    SessionState,
    SetDataOp,
)
from cordwood.cluster.zookeeper.client.zookeeper_errors import NoNodeError, SessionExpiredError
from cordwood.cluster.zookeeper.store.guarded_writes import ControllerGuard
from cordwood.core.errors import StaleControllerEpochError
from cordwood.core.types import TopicPartition
from cordwood.testing.zookeeper.memory_zookeeper import MemoryConnection, MemoryZooKeeper
from tests.unit.cluster.zookeeper.store.store_values import FIRST, PARTITIONS, TOPIC
from tests.unit.cluster.zookeeper.store.store_world import Member, StoreWorld

SEEDS = range(40)
ROUNDS = 25


class CheckedZooKeeper(MemoryZooKeeper):
    """A server that checks each stored leadership."""

    def write(self, connection: MemoryConnection, operations: list[MultiOp]) -> list[MultiResult]:
        results = super().write(connection, operations)
        for operation in operations:
            if operation.path.endswith("/state"):
                stored = json.loads(self.tree.get(operation.path).data)["controller_epoch"]
                latest = int(self.tree.get("/controller_epoch").data)
                assert stored == latest, f"a write of controller epoch {stored} in epoch {latest}"
        return results


class Fight:
    """Three brokers, and what they were answered."""

    def __init__(self, seed: int) -> None:
        self.keeper = StoreWorld(seed)
        world = self.keeper.world
        self.keeper.server = CheckedZooKeeper(
            world.clock, world.clock, delay_ms=lambda: world.random.uniform(0.1, 20)
        )
        self.epochs = list[int]()
        self.written = dict[TopicPartition, Leadership]()
        self.counts = Counter[str]()

    async def run(self) -> None:
        """Let the brokers fight, then compare the store with the answers."""
        members = [await self.keeper.member(each) for each in (1, 2, 3)]
        await members[0].store.topics.create("t", TOPIC, configs={})
        for member in members:
            self.keeper.world.begin(self._live(member))
        self._plan_faults(members)
        await self.keeper.settle(60_000)
        observer = await self.keeper.member(9)
        stored = await observer.store.leaderships.read(PARTITIONS)
        for partition, answered in self.written.items():
            assert stored[partition].partition_epoch >= answered.partition_epoch
            if stored[partition].partition_epoch == answered.partition_epoch:
                assert stored[partition] == answered

    def _plan_faults(self, members: list[Member]) -> None:
        world = self.keeper.world
        for _ in range(30):
            member, at_ms = world.random.choice(members), world.random.uniform(0, 8_000)
            world.after(at_ms, partial(self._break, member))
        for _ in range(10):
            world.after(world.random.uniform(0, 8_000), self._remove_controller)
            world.after(world.random.uniform(0, 8_000), self._write_as_a_leader)
        for _ in range(8):
            member, at_ms = world.random.choice(members), world.random.uniform(0, 8_000)
            world.after(at_ms, partial(self._expire, member))

    def _break(self, member: Member) -> None:
        arriving = self.keeper.world.random.randint(0, member.client.requests_on_the_way)
        self.counts["lost requests"] += member.client.requests_on_the_way - arriving
        self.counts["lost responses"] += arriving
        member.client.break_connection(arriving)

    def _remove_controller(self) -> None:
        """Remove the controller's node, as administrators do to force an election."""
        with suppress(NoNodeError):
            self.keeper.server.tree.apply([DeleteOp("/controller")], session_id=0, now_ms=0)
            self.counts["removed controllers"] += 1

    def _write_as_a_leader(self) -> None:
        """Store a leadership again, as a leader does that changes its in-sync set."""
        path, tree = "/brokers/topics/t/partitions/1/state", self.keeper.server.tree
        with suppress(NoNodeError):
            tree.apply([SetDataOp(path, tree.get(path).data)], session_id=0, now_ms=0)

    def _expire(self, member: Member) -> None:
        self.counts["ended sessions"] += 1
        self.keeper.server.expire(member.client.session_id)

    async def _live(self, member: Member) -> None:
        random = self.keeper.world.random
        for _ in range(ROUNDS):
            await self.keeper.settle(random.uniform(1, 300))
            try:
                if member.client.state is SessionState.EXPIRED:
                    await member.restart_session()
                guard = await member.store.election.elect(member.broker_id)
                if guard is not None:
                    await self._control(member, guard)
            except SessionExpiredError:
                self.counts["operations ended by their session"] += 1

    async def _control(self, member: Member, guard: ControllerGuard) -> None:
        self.counts["elections"] += 1
        assert guard.epoch not in self.epochs
        self.epochs.append(guard.epoch)
        random, store = self.keeper.world.random, member.store.leaderships
        try:
            await store.create(
                {each: FIRST[each]._replace(controller_epoch=guard.epoch) for each in PARTITIONS},
                guard,
            )
            for _ in range(random.randint(1, 6)):
                await self.keeper.settle(random.uniform(1, 200))
                found = await store.read(PARTITIONS)
                wanted = {
                    each: found[each]
                    .next_epoch(leader=member.broker_id, isr=(member.broker_id,))
                    ._replace(controller_epoch=guard.epoch)
                    for each in found
                }
                writes = await store.write(wanted, guard)
                self.counts["conflicts"] += len(writes.conflicts)
                self.written |= writes.written
            with suppress(StaleControllerEpochError):
                await member.store.election.resign(guard)
        except StaleControllerEpochError:
            self.counts["deposed writers"] += 1


def fight(seed: int) -> Counter[str]:
    """Run the fight of a seed."""
    one = Fight(seed)
    one.keeper.run(one.run())
    return one.counts


@pytest.mark.parametrize("seed", SEEDS)
def test_no_write_of_a_deposed_controller_is_stored(seed: int) -> None:
    fight(seed)


def test_fights_have_every_kind_of_fault() -> None:
    counts = sum((fight(seed) for seed in range(30)), Counter[str]())

    assert counts.keys() == {
        "elections",
        "removed controllers",
        "deposed writers",
        "lost requests",
        "lost responses",
        "ended sessions",
        "operations ended by their session",
        "conflicts",
    }
    assert min(counts.values()) > 0
