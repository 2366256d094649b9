"""Tests of the queue of requests to one broker, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable

from cordwood.client.network.runtime import ClientRuntime
from cordwood.cluster.active_controller.broker_request_queue import (
    BrokerAnswer,
    BrokerRequestQueue,
)
from cordwood.cluster.controller.effects import BrokerRequest
from cordwood.core.address import Address
from cordwood.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from cordwood.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
)
from cordwood.protocol.messages.update_metadata import UpdateMetadataResponse
from cordwood.protocol.schema import Request, Response
from cordwood.testing.seeded_random import SeededRandom
from tests.unit.cluster.active_controller.memory_channels import MemoryChannels, Peer
from tests.unit.cluster.controller.controller_samples import live_broker
from tests.unit.cluster.zookeeper.store.store_world import StoreWorld

EPOCH = 102
TIMEOUT_MS = 30_000


def numbered(number: int, *, broker_epoch: int = EPOCH) -> BrokerRequest:
    """Return a request with this number as controller epoch, which is not merged with the next."""
    request: Request
    if number % 2:
        stopped = StopReplicaPartitionState(partition_index=0, delete_partition=False)
        request = StopReplicaRequest(
            controller_id=1,
            controller_epoch=number,
            broker_epoch=broker_epoch,
            topic_states=[StopReplicaTopicState(topic_name="t", partition_states=[stopped])],
        )
        return BrokerRequest(2, request, 4)
    led = LeaderAndIsrPartitionState(
        partition_index=0,
        controller_epoch=1,
        leader=2,
        leader_epoch=0,
        isr=[2],
        partition_epoch=0,
        replicas=[2],
    )
    request = LeaderAndIsrRequest(
        controller_id=1,
        controller_epoch=number,
        broker_epoch=broker_epoch,
        topic_states=[LeaderAndIsrTopicState(topic_name="t", partition_states=[led])],
        live_leaders=[],
    )
    return BrokerRequest(2, request, 7)


class QueueWorld:
    """One broker, its queue, and what the queue reported."""

    def __init__(self) -> None:
        self.keeper = StoreWorld()
        world = self.keeper.world
        channels = MemoryChannels(world)
        self.peer = Peer(self._answer)
        channels.peers[Address("host2", 9092)] = self.peer
        self.channel = channels.open(Address("host2", 9092), client_id="1")
        self.answers = list[BrokerAnswer]()
        self.failures = list[tuple[Request, Exception]]()
        self.queue = BrokerRequestQueue(
            live_broker(2),
            self.channel,
            ClientRuntime(world.clock, world.clock, SeededRandom(1)),
            timeout_ms=TIMEOUT_MS,
            answered=self._answered,
            failed=lambda request, error: self.failures.append((request, error)),
        )

    @staticmethod
    def _answer(request: Request) -> Response:
        if isinstance(request, LeaderAndIsrRequest):
            return LeaderAndIsrResponse(error_code=0)
        return StopReplicaResponse(error_code=0, partition_errors=[])

    async def _answered(self, answer: BrokerAnswer) -> None:
        self.answers.append(answer)

    @property
    def handled(self) -> list[int]:
        """The numbers of the requests that the broker has handled."""
        return [each.controller_epoch for each in self.peer.handled]  # type: ignore[attr-defined]  # all have one


def play(scene: Callable[[QueueWorld], Awaitable[None]]) -> None:
    """Run a scene while the queue runs."""

    async def run(world: QueueWorld) -> None:
        task = asyncio.ensure_future(world.queue.run())
        await scene(world)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert world.channel.is_closed

    world = QueueWorld()
    world.keeper.run(run(world))


def test_requests_arrive_in_order_one_at_a_time() -> None:
    async def scene(world: QueueWorld) -> None:
        for each in range(5):
            world.queue.put(numbered(each))
        await world.keeper.settle()

        assert world.handled == [0, 1, 2, 3, 4]
        assert world.peer.most_in_flight == 1
        assert [each.broker_id for each in world.answers] == [2] * 5

    play(scene)


def test_request_is_repeated_before_the_next_one_after_a_lost_response() -> None:
    async def scene(world: QueueWorld) -> None:
        world.peer.loses_responses = 2
        for each in range(2):
            world.queue.put(numbered(each))
        await world.keeper.settle()

        assert world.handled == [0, 0, 0, 1]
        assert len(world.failures) == 2
        assert len(world.answers) == 2

    play(scene)


def test_repetitions_have_a_pause() -> None:
    async def scene(world: QueueWorld) -> None:
        world.peer.is_up = False
        world.queue.put(numbered(1))
        await world.keeper.settle(1_000)

        assert 9 <= len(world.failures) <= 10

    play(scene)


def test_request_without_an_answer_is_repeated_after_the_timeout() -> None:
    async def scene(world: QueueWorld) -> None:
        world.peer.is_deaf = True
        world.queue.put(numbered(1))
        await world.keeper.settle(TIMEOUT_MS - 100)
        world.peer.is_deaf = False
        assert not world.answers
        await world.keeper.settle(1_000)

        assert world.handled == [1]

    play(scene)


def test_request_for_another_registration_is_dropped() -> None:
    async def scene(world: QueueWorld) -> None:
        world.queue.put(numbered(1, broker_epoch=EPOCH - 1))
        world.queue.put(numbered(2))
        await world.keeper.settle()

        assert world.handled == [2]

    play(scene)


def test_answer_to_an_update_of_metadata_has_no_flow() -> None:
    request = LeaderAndIsrRequest(controller_id=1, controller_epoch=1, live_leaders=[])

    assert not BrokerAnswer(2, request, UpdateMetadataResponse(error_code=0)).has_flow
