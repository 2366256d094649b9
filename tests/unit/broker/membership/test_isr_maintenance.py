"""Tests of in-sync replicas that are kept with the controller."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from cordwood.broker.membership.isr_maintenance import IsrMaintenance
from cordwood.broker.metadata.metadata_image import PartitionImage, TopicImage
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.partitions.partition_leader import PartitionAppendResult
from cordwood.cluster.partition.alter_partition_manager import RETRY_MS
from cordwood.cluster.partition.leader import Leader
from cordwood.core.errors import (
    IneligibleReplicaError,
    KafkaError,
    NetworkError,
    NotControllerError,
    NotEnoughReplicasAfterAppendError,
)
from cordwood.core.ports import Pending
from cordwood.protocol.messages.alter_partition import (
    AlteredPartitionState,
    AlteredPartitionTopic,
    AlterPartitionRequest,
    AlterPartitionResponse,
)
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import log_creation
from tests.unit.broker.broker_samples import BrokerHarness, run, turns
from tests.unit.broker.image_samples import cluster, host
from tests.unit.storage.log_samples import produced
from tests.unit.storage.manager_samples import ORDERS_ID, partition

Script = Callable[[AlterPartitionRequest], AlterPartitionResponse]
LAG_MS = 30_000
EPOCH = 50


class Controller:
    """A channel to a scripted controller; an error in the script is raised."""

    def __init__(self) -> None:
        self.requests = list[AlterPartitionRequest]()
        self.script = list[KafkaError | Script]()

    async def send(
        self, request: AlterPartitionRequest, _: object, **__: object
    ) -> AlterPartitionResponse:
        self.requests.append(request)
        step = self.script.pop(0) if self.script else altered
        if isinstance(step, KafkaError):
            raise step
        return step(request)

    def close(self) -> None:
        """There is no connection."""


def altered(request: AlterPartitionRequest) -> AlterPartitionResponse:
    """Return the state that a controller stores for a request."""
    return AlterPartitionResponse(
        error_code=0,
        topics=[
            AlteredPartitionTopic(
                topic_id=topic.topic_id,
                partitions=[
                    AlteredPartitionState(
                        partition_index=each.partition_index,
                        error_code=0,
                        leader_id=1,
                        leader_epoch=each.leader_epoch,
                        isr=[state.broker_id for state in each.new_isr_with_epochs],
                        partition_epoch=each.partition_epoch + 1,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def refused(code: int) -> Script:
    def answer(request: AlterPartitionRequest) -> AlterPartitionResponse:
        response = altered(request)
        response.topics[0].partitions[0].error_code = code
        return response

    return answer


class Scene:
    """Broker 1 leads one partition of the replicas 1, 2 and 3, in leader epoch 1."""

    def __init__(self, *, isr: tuple[int, ...], min_insync_replicas: int = 1) -> None:
        config = LogConfig(min_insync_replicas=min_insync_replicas)
        harness = BrokerHarness(config)
        self.time = harness.time
        self.controller = Controller()
        harness.metadata.publish(
            replace(harness.metadata.image, brokers=cluster(brokers=3).brokers, epoch=99)
        )
        self.isr = IsrMaintenance(
            harness.configs,
            harness.metadata,
            controller=lambda: self.controller,  # type: ignore[arg-type, return-value]  # scripted
            broker_epoch=lambda: EPOCH,
            clock=self.time,
            scheduler=self.time,
        )
        self.partitions = HostedPartitions(harness.resources._replace(isr=self.isr))
        log_creation.create(harness.manager, partition(), topic_id=ORDERS_ID)
        state = PartitionImage((1, 2, 3), isr, 1, 1, 7)
        host(self.partitions, TopicImage("orders", ORDERS_ID, (state,)))
        self.partition = self.partitions.get("orders", 0)
        self.partition.log.epoch_file.save()

    @property
    def leader(self) -> Leader:
        role = self.partition.role
        assert isinstance(role, Leader)
        return role

    @property
    def high_watermark(self) -> int:
        return self.partition.log.bounds.high_watermark

    def append(self, sequence: int = 0) -> Pending[PartitionAppendResult]:
        return self.partition.append(memoryview(produced(sequence)))

    def fetch(self, broker_id: int, offset: int) -> None:
        self.partition.follower(broker_id, leader_epoch=1, broker_epoch=60 + broker_id)(offset)

    def run(self, work: Callable[[], Awaitable[None]]) -> None:
        async def scene() -> None:
            self.isr.start(self.partitions)
            try:
                await work()
            finally:
                await self.isr.stop()

        run(scene())


def in_sync(scene: Scene) -> tuple[int, ...]:
    return scene.leader.isr


def test_follower_that_has_caught_up_joins() -> None:
    scene = Scene(isr=(1,))

    async def work() -> None:
        scene.append()
        scene.fetch(2, 1)
        assert scene.leader.maximal_isr == (1, 2)
        await turns()
        assert in_sync(scene) == (1, 2)
        assert scene.leader.partition_epoch == 8

    scene.run(work)
    (request,) = scene.controller.requests
    assert request.broker_epoch == EPOCH
    (state,) = request.topics[0].partitions
    epochs = {each.broker_id: each.broker_epoch for each in state.new_isr_with_epochs}
    assert epochs == {1: -1, 2: 62}


def test_follower_that_lags_does_not_join() -> None:
    scene = Scene(isr=(1,))

    async def work() -> None:
        scene.append()
        scene.fetch(2, 0)
        await turns()

    scene.run(work)
    assert not scene.controller.requests


def test_follower_that_is_about_to_join_holds_back_the_high_watermark() -> None:
    scene = Scene(isr=(1,))

    async def work() -> None:
        scene.fetch(2, 0)
        scene.controller.script.append(refused(IneligibleReplicaError.code))
        await turns()
        assert in_sync(scene) == (1,)
        scene.append()
        assert scene.high_watermark == 0
        scene.fetch(2, 1)
        assert scene.high_watermark == 1

    scene.run(work)


def test_follower_that_stopped_fetching_leaves() -> None:
    scene = Scene(isr=(1, 2, 3))

    async def work() -> None:
        appended = scene.append()
        scene.fetch(2, 1)
        scene.time.advance(ms=LAG_MS / 2)
        await turns()
        assert in_sync(scene) == (1, 2, 3)
        scene.fetch(2, 1)
        scene.time.advance(ms=LAG_MS)
        await turns()
        assert in_sync(scene) == (1, 2)
        assert scene.high_watermark == 1
        assert appended.result().result.last_offset == 0

    scene.run(work)


def test_append_has_an_error_when_too_few_replicas_stay() -> None:
    scene = Scene(isr=(1, 2, 3), min_insync_replicas=3)

    async def work() -> None:
        appended = scene.append()
        scene.fetch(2, 1)
        scene.time.advance(ms=1.5 * LAG_MS)
        await turns()
        assert isinstance(appended.exception(), NotEnoughReplicasAfterAppendError)
        assert scene.high_watermark == 0
        assert scene.partition.log.bounds.log_end == 1

    scene.run(work)


@pytest.mark.parametrize(
    "failure", (NetworkError("lost"), refused(NotControllerError.code), refused(-1))
)
def test_proposal_is_sent_again_until_it_has_an_answer(failure: KafkaError | Script) -> None:
    scene = Scene(isr=(1,))
    scene.controller.script.append(failure)

    async def work() -> None:
        scene.fetch(2, 0)
        await turns()
        assert scene.leader.maximal_isr == (1, 2)
        assert in_sync(scene) == (1,)
        scene.time.advance(ms=RETRY_MS)
        await turns()
        assert in_sync(scene) == (1, 2)

    scene.run(work)
    assert len(scene.controller.requests) == 2


def test_follower_without_a_registration_does_not_join() -> None:
    scene = Scene(isr=(1,))

    async def work() -> None:
        known = scene.isr.lag_check(0)
        assert set(known.eligible) == {1, 2, 3}

    scene.run(work)
    assert scene.isr.lag_check(5).leader_end == 5


def test_answer_after_the_leadership_has_no_effect() -> None:
    scene = Scene(isr=(1,))

    async def work() -> None:
        scene.fetch(2, 0)
        scene.partition.apply(PartitionImage((1, 2, 3), (1, 2), 2, 2))
        await turns()

    scene.run(work)
    assert len(scene.controller.requests) == 1
