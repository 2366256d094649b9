"""Random histories of a cluster whose brokers fail: it converges once the failures end.

    failures    connections to ZooKeeper break, sessions end, /controller is removed; brokers crash,
                return, and do not answer; responses are lost
    changes     topics are created, grown and deleted; elections, reassignments, in-sync sets
    end         one controller, and brokers that have what is stored

Three brokers take part in the elections. They are models that obey requests, so leaders change
their in-sync sets only as a step of the history.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import pytest

from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.zookeeper.client.zookeeper_client import SessionState
from cordwood.cluster.zookeeper.client.zookeeper_errors import NodeExistsError, NoNodeError
from cordwood.core.errors import (
    NotControllerError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import TopicPartition
from tests.unit.cluster.active_controller.controller_steps import in_sync_request
from tests.unit.cluster.active_controller.controller_world import (
    ControllerWorld,
    Host,
    partition,
)

if TYPE_CHECKING:
    from cordwood.protocol.messages.alter_partition import AlterPartitionResponse

SEEDS: Final = range(20)
BROKERS: Final = (1, 2, 3)
TOPICS: Final = ("a", "b", "c")
STEPS: Final = 60
LONG_MS: Final = 60_000

Step: TypeAlias = Callable[[], Coroutine[object, object, None]]


class History:
    """One history, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.world = ControllerWorld(seed)
        self.random = self.world.keeper.world.random
        self.counts = Counter[str]()

    async def run(self) -> None:
        """Fail and change for a while, then let the cluster settle."""
        await self.world.start(*BROKERS)
        for _ in range(STEPS):
            step = self.random.choice(self._steps())
            self.counts[step.__name__] += 1
            await step()
            await self.world.settle(self.random.choice((1, 10, 100, 1_000, 4_000)))
        await self._heal()
        await self.world.settle(LONG_MS)
        for _ in range(3):
            await self._catch_up()
        await self._check()

    def _steps(self) -> list[Step]:
        return [
            self._break_connection,
            self._end_session,
            self._remove_controller,
            self._crash,
            self._restart,
            self._lose_responses,
            self._deafen,
            self._create,
            self._create,
            self._grow,
            self._delete,
            self._elect,
            self._reassign,
            self._change_isr,
            self._change_isr,
        ]

    def _any(self) -> Host:
        return self.world.hosts[self.random.choice(BROKERS)]

    # Failures

    async def _break_connection(self) -> None:
        client = self._any().member.client
        client.break_connection(self.random.randint(0, client.requests_on_the_way))

    async def _end_session(self) -> None:
        self.world.keeper.server.expire(self._any().member.client.session_id)

    async def _remove_controller(self) -> None:
        with suppress(NoNodeError):
            await self.world.delete("/controller")

    async def _crash(self) -> None:
        host = self._any()
        if host.is_running:
            await host.crash()

    async def _restart(self) -> None:
        for host in self.world.hosts.values():
            if not host.is_running:
                await host.restart()
                return

    async def _lose_responses(self) -> None:
        self._any().peer.loses_responses += self.random.randint(1, 3)

    async def _deafen(self) -> None:
        peer = self._any().peer
        peer.is_deaf = not peer.is_deaf

    async def _heal(self) -> None:
        for host in self.world.hosts.values():
            host.peer.is_deaf = False
            if not host.is_running:
                await host.restart()

    # Changes

    async def _create(self) -> None:
        replicas = [self._replicas() for _ in range(self.random.randint(1, 3))]
        with suppress(TopicAlreadyExistsError):
            await self.world.create(self.random.choice(TOPICS), *replicas)

    def _replicas(self) -> tuple[int, ...]:
        return tuple(self.random.sample(BROKERS, self.random.randint(1, 3)))

    async def _grow(self) -> None:
        store, topic = await self.world.store(), self.random.choice(TOPICS)
        found = (await store.topics.read([topic])).get(topic)
        if found is not None and len(found.partitions) < 4:
            added = {len(found.partitions): ReplicaAssignment(self._replicas())}
            await store.topics.write_assignment(topic, {**found.partitions, **added})

    async def _delete(self) -> None:
        """Delete a topic that is not being reassigned.

        A deletion waits for the reassignments of its topic. One without a leader would never
        complete, because a topic that is to be deleted gets no leaders, as in Kafka.
        """
        store, topic = await self.world.store(), self.random.choice(TOPICS)
        requested = await store.administration.reassignments()
        found = (await store.topics.read([topic])).get(topic)
        is_busy = found is None or any(
            each.is_being_reassigned for each in found.partitions.values()
        )
        if not is_busy and not requested:
            with suppress(UnknownTopicOrPartitionError):
                await store.topics.request_deletion(topic)

    async def _elect(self) -> None:
        with suppress(NodeExistsError):
            await self.world.request_election([self._partition()])

    async def _reassign(self) -> None:
        with suppress(NodeExistsError):
            await self.world.request_reassignment({self._partition(): self._replicas()})

    def _partition(self) -> TopicPartition:
        return partition(self.random.choice(TOPICS), self.random.randint(0, 2))

    async def _change_isr(self) -> None:
        """Let a leader request all of its replicas in sync, or itself alone."""
        host = self._any()
        led = [each for each, at in host.model.replicas.items() if at.leader == host.broker_id]
        if led:
            name = self.random.choice(led)
            isr = self.random.choice((BROKERS, (host.broker_id,)))
            await self._submit(host, name, [each for each in isr if await self._has(each, name)])

    async def _has(self, broker_id: int, name: TopicPartition) -> bool:
        return name in self.world.hosts[broker_id].model.replicas

    async def _submit(self, host: Host, name: TopicPartition, isr: list[int]) -> None:
        request, kind = in_sync_request(host, name, isr)
        for each in self.world.hosts.values():
            submission = asyncio.ensure_future(each.controller.submit(request, kind, version=2))
            await self.world.settle(500)
            self._count(submission)

    def _count(self, submission: "asyncio.Task[AlterPartitionResponse]") -> None:
        if not submission.done():
            submission.cancel()
            self.counts["abandoned"] += 1
        elif isinstance(submission.exception(), NotControllerError):
            self.counts["not the controller"] += 1
        else:
            submission.result()
            self.counts["answered"] += 1

    # The end

    async def _catch_up(self) -> None:
        """Let all leaders request all of their replicas in sync, so that reassignments complete."""
        store, controller = await self.world.store(), self.world.controller.controller
        for topic, found in (await store.topics.read(await store.topics.names())).items():
            for number, assignment in found.partitions.items():
                name = partition(topic, number)
                leadership = (await store.leaderships.read([name])).get(name)
                host = self.world.hosts.get(-1 if leadership is None else leadership.leader)
                if host is not None and name in host.model.replicas:
                    request, kind = in_sync_request(host, name, [*assignment.replicas])
                    await controller.submit(request, kind, version=2)
        await self.world.settle()

    async def _check(self) -> None:
        """Compare the brokers with what is stored."""
        store = await self.world.store()
        topics = await store.topics.read(await store.topics.names())
        assert not await store.administration.deletions()
        names = [
            partition(topic, each) for topic, found in topics.items() for each in found.partitions
        ]
        leaderships = await store.leaderships.read(names)
        for name in names:
            replicas = topics[name.topic].partitions[name.partition].replicas
            leadership = leaderships[name]
            assert leadership.leader in leadership.isr, f"{name}: {leadership}"
            for each in replicas:
                hosted = self.world.hosts[each].model.replicas[name]
                found = (hosted.leader, hosted.leader_epoch)
                assert found == (leadership.leader, leadership.leader_epoch), f"{name} on {each}"
        for host in self.world.hosts.values():
            assert host.member.client.state is SessionState.CONNECTED
            assert host.model.live_brokers == {*BROKERS}
            assert host.controller_ids[-1] == self.world.controller.broker_id
            # The removal of a topic can be lost with a controller, so more may be known.
            known = {each: host.model.metadata[each] for each in names}
            assert known == {
                each: (found.leader, found.leader_epoch) for each, found in leaderships.items()
            }


def play(seed: int) -> Counter[str]:
    """Run the history of a seed; return what happened in it."""
    history = History(seed)
    history.world.keeper.run(history.run())
    history.counts["elections"] += sum(
        "began" in each for host in history.world.hosts.values() for each in host.roles
    )
    return history.counts


@pytest.mark.parametrize("seed", SEEDS)
def test_cluster_converges_after_failures(seed: int) -> None:
    play(seed)


def test_histories_have_every_kind_of_event() -> None:
    counts = sum(map(partial(play), range(100, 108)), Counter[str]())

    assert min(counts[each.__name__] for each in History(0)._steps()) > 0  # noqa: SLF001  the names
    assert counts["elections"] > 20
    assert counts["answered"] > 0
    assert counts["not the controller"] > 0
