"""Tests of the queues of the registered brokers."""

from collections.abc import Awaitable, Callable

from cordwood.client.network.runtime import ClientRuntime
from cordwood.cluster.active_controller.broker_request_queue import BrokerAnswer
from cordwood.cluster.active_controller.controller_channel_manager import (
    ControllerChannelManager,
)
from cordwood.cluster.active_controller.controller_host import ControllerReport, RequestFailed
from cordwood.cluster.active_controller.controller_settings import ActiveControllerSettings
from cordwood.cluster.controller.context.cluster_context import ControllerSettings
from cordwood.cluster.controller.effects import BrokerRequest
from cordwood.core.address import Address
from cordwood.protocol.messages.update_metadata import (
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from cordwood.testing.seeded_random import SeededRandom
from tests.unit.cluster.active_controller.memory_channels import MemoryChannels, Peer
from tests.unit.cluster.controller.controller_samples import live_broker
from tests.unit.cluster.zookeeper.store.store_world import StoreWorld


class ManagerWorld:
    """Brokers 1 and 2, and the manager of controller 7."""

    def __init__(self) -> None:
        self.keeper = StoreWorld()
        world = self.keeper.world
        self.channels = MemoryChannels(world)
        self.peers = {each: Peer(lambda _: UpdateMetadataResponse(error_code=0)) for each in (1, 2)}
        for each, peer in self.peers.items():
            self.channels.peers[Address(f"host{each}", 9092)] = peer
        self.reports = list[ControllerReport]()
        self.manager = ControllerChannelManager(
            ActiveControllerSettings(decisions=ControllerSettings(controller_id=7)),
            self.channels,
            ClientRuntime(world.clock, world.clock, SeededRandom(1)),
            answered=self._answered,
            report=self.reports.append,
        )

    @staticmethod
    async def _answered(answer: BrokerAnswer) -> None:
        assert answer.response == UpdateMetadataResponse(error_code=0)

    def send(self, broker_id: int) -> None:
        request = UpdateMetadataRequest(
            controller_id=7, controller_epoch=1, broker_epoch=100 + broker_id, live_brokers=[]
        )
        self.manager.send([BrokerRequest(broker_id, request, 8)])


def play(scene: Callable[[ManagerWorld], Awaitable[None]]) -> None:
    """Run a scene, and close the manager."""

    async def run(world: ManagerWorld) -> None:
        await scene(world)
        await world.manager.close()
        assert all(each.is_closed for each in world.channels.opened)

    world = ManagerWorld()
    world.keeper.run(run(world))


def test_slow_broker_holds_up_no_other_one() -> None:
    async def scene(world: ManagerWorld) -> None:
        world.manager.connect([live_broker(1), live_broker(2)])
        world.peers[1].is_deaf = True
        world.send(1)
        world.send(2)
        await world.keeper.settle()

        assert len(world.peers[2].handled) == 1
        assert [each.client_id for each in world.channels.opened] == ["7", "7"]

    play(scene)


def test_disconnected_broker_gets_no_request_that_waits() -> None:
    async def scene(world: ManagerWorld) -> None:
        world.manager.connect([live_broker(1)])
        world.peers[1].is_up = False
        world.send(1)
        await world.keeper.settle()
        await world.manager.disconnect([1, 2])
        world.peers[1].is_up = True
        world.manager.connect([live_broker(1)])
        await world.keeper.settle()
        assert not world.peers[1].handled
        assert world.channels.opened[0].is_closed

        world.send(1)
        await world.keeper.settle()

        assert len(world.peers[1].handled) == 1

    play(scene)


def test_request_to_a_broker_without_a_queue_is_reported() -> None:
    async def scene(world: ManagerWorld) -> None:
        world.send(1)

        assert world.reports == [RequestFailed(1, "UpdateMetadata", "the broker is not connected")]

    play(scene)


def test_broker_without_the_listener_is_reported() -> None:
    async def scene(world: ManagerWorld) -> None:
        world.manager.connect([live_broker(1)._replace(endpoints=())])

        assert world.reports == [RequestFailed(1, "all", "the broker has no listener PLAINTEXT")]

    play(scene)
