"""Conformance tests of the ZooKeeperClient port, for kazoo and a server of Kafka 3.9's jars."""

import asyncio
from collections.abc import Iterator

import pytest

from cordwood.core.ports import Worker
from cordwood.core.system import ThreadWorker
from tests.conformance.zookeeper_scenes import SCENES, Scene
from tests.interop.kafka_harness.zookeepers import KazooKeeper, RunningZooKeeper

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = ThreadWorker()
    yield worker
    worker.close()


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_client_over_kazoo(scene: Scene, zookeeper: RunningZooKeeper, worker: Worker) -> None:
    async def play() -> None:
        keeper = KazooKeeper(zookeeper, worker)
        await keeper.start()
        try:
            await scene(keeper)
        finally:
            await keeper.close()

    asyncio.run(play())
