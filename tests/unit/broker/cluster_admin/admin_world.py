"""A broker's administration over ZooKeeper in memory, and a controller that publishes images.

The controller elects the first replica of each partition, and removes topics whose deletion is
requested. It does so when a test lets it `work`, so that a request can wait for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Final, TypeVar

from cordwood.broker.cluster_admin.cluster_config_changes import ClusterConfigChanges
from cordwood.broker.cluster_admin.cluster_topic_manager import ClusterTopicManager
from cordwood.broker.cluster_admin.dynamic_config_manager import DynamicConfigManager
from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import BrokerImage, ClusterImage, TopicImage
from cordwood.broker.topics.request_deadline import RequestDeadline
from cordwood.cluster.zookeeper.store.guarded_writes import ControllerGuard
from cordwood.core.errors import KafkaError
from cordwood.core.settings import SettingSource
from cordwood.core.uuids import NO_UUID
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.seeded_random import SeededRandom
from tests.unit.cluster.zookeeper.store.store_world import Member, StoreWorld

T = TypeVar("T")

#: The time of requests, far longer than a message takes.
TIMEOUT_MS: Final = 10_000


WORKER: Final = InlineWorker()


def _image(brokers: int) -> ClusterImage:
    """Return the image of a cluster with this number of live brokers."""
    live = {each: BrokerImage(each, {}) for each in range(1, brokers + 1)}
    return ClusterImage(cluster_id="c", controller_id=1, brokers=live)


class AdminBroker:
    """Broker `node_id` with its administration."""

    def __init__(
        self, keeper: StoreWorld, member: Member, *, brokers: int, given: dict[str, str]
    ) -> None:
        self.keeper = keeper
        self.member = member
        self.is_controller = True
        self.events = list[str]()
        self.metadata = MetadataCache(_image(brokers))
        self.configs = BrokerConfigs(member.broker_id, [SettingSource("server.properties", given)])
        self.manager = DynamicConfigManager(
            member.store.configs, self.configs, WORKER, on_event=self.events.append
        )
        self.config_changes = ClusterConfigChanges(
            self.manager, self.configs, self.metadata, WORKER
        )
        self.topics = self._topic_manager()

    def _topic_manager(self) -> ClusterTopicManager:
        return ClusterTopicManager(
            self.member.store.topics,
            configs=self.configs,
            metadata=self.metadata,
            random=SeededRandom(1),
            worker=WORKER,
            is_controller=lambda: self.is_controller,
        )

    def deadline(self, timeout_ms: int = TIMEOUT_MS) -> RequestDeadline:
        clock = self.keeper.world.clock
        return RequestDeadline(clock, clock, timeout_ms=timeout_ms)

    def publish(self, *topics: TopicImage) -> None:
        """Publish topics, as after UpdateMetadata."""
        self.metadata.publish(self.metadata.image.with_topic(*topics))


class FakeController:
    """The controller; it works on what is stored, and publishes to these brokers."""

    def __init__(self, member: Member, guard: ControllerGuard, *brokers: AdminBroker) -> None:
        self._member = member
        self._guard = guard
        self._brokers = brokers

    async def work(self) -> None:
        """Delete the topics whose deletion is requested, and elect leaders for all others."""
        topics = self._member.store.topics
        for name in await self._member.store.administration.deletions():
            await topics.delete(name, self._guard)
        stored = await topics.read(await topics.names())
        images = [
            TopicImage.new(
                name,
                each.topic_id or NO_UUID,
                replicas=[each.partitions[at].replicas for at in sorted(each.partitions)],
            )
            for name, each in stored.items()
        ]
        for broker in self._brokers:
            known = broker.metadata.image
            gone = known.topics.keys() - stored.keys()
            changed = known.without_topic(*gone).with_topic(*images)
            broker.metadata.publish(replace(changed, epoch=known.epoch + 1))


class AdminWorld:
    """ZooKeeper, a controller, and the brokers of a scene."""

    def __init__(self) -> None:
        self.keeper = StoreWorld()

    async def broker(self, node_id: int = 1, *, brokers: int = 3, **given: str) -> AdminBroker:
        """Return a broker; `given` are its startup settings, with _ instead of dots."""
        texts = {key.replace("_", "."): text for key, text in given.items()}
        member = await self.keeper.member(node_id)
        return AdminBroker(self.keeper, member, brokers=brokers, given=texts)

    async def controller(self, *brokers: AdminBroker) -> FakeController:
        """Return the controller of these brokers."""
        member = await self.keeper.member(100)
        return FakeController(member, await member.elected(), *brokers)

    def begin(self, scene: Coroutine[object, object, T]) -> asyncio.Task[T]:
        return asyncio.get_running_loop().create_task(scene)

    def nodes(self) -> dict[str, bytes]:
        return self.keeper.nodes()


def play(scene: Callable[[AdminWorld], Awaitable[T]]) -> T:
    """Run a scene in a world of its own, in virtual time."""
    world = AdminWorld()
    return world.keeper.run(scene(world))


def kinds(outcomes: list[T | KafkaError]) -> list[str]:
    """Return the name of the class of each outcome."""
    return [type(each).__name__ for each in outcomes]
