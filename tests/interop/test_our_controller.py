"""Our controller with a real ZooKeeper, alone and as the controller of Kafka 3.9.1's brokers."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import StoredAssignment
from cordwood.core.ports import Worker
from cordwood.core.system import SystemRandom, ThreadWorker
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import make_uuid
from cordwood.protocol.messages.alter_partition import AlterPartitionRequest
from cordwood.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from cordwood.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from cordwood.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import Broker, producer_settings
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.our_controller import CONTROLLER_ID, OurController
from tests.interop.kafka_harness.patience import PATIENCE_S, wait_for_result
from tests.interop.kafka_harness.zookeepers import RunningZooKeeper, member39_in

pytestmark = pytest.mark.timeout(600)

TOPIC: Final = "moved"
MOVED_0: Final = TopicPartition(TopicName(TOPIC), PartitionId(0))


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = ThreadWorker()
    yield worker
    worker.close()


async def create_topic(ours: OurController, *replicas: tuple[int, ...]) -> None:
    """Create the topic in the store, as an administrator does."""
    assignments = {number: ReplicaAssignment(each) for number, each in enumerate(replicas)}
    stored = StoredAssignment(make_uuid(SystemRandom()), assignments)
    await ours.store.topics.create(TOPIC, stored, configs={})


async def until_led(
    ours: OurController, leader: int, isr: set[int], replicas: tuple[int, ...] = (1, 2)
) -> Leadership:
    """Wait until the partition has this leader, this in-sync set and these replicas."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = (await ours.store.leaderships.read([MOVED_0])).get(MOVED_0)
            stored = (await ours.store.topics.read([TOPIC]))[TOPIC].partitions[0]
            if (
                found is not None
                and (found.leader, {*found.isr}) == (leader, isr)
                and stored == ReplicaAssignment(replicas)
            ):
                return found


async def until(look: Callable[[], Awaitable[bool]]) -> None:
    """Repeat a request to ZooKeeper until a condition holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not await look():
            pass


def test_two_brokers_follow_each_other_as_controller(
    zookeeper: RunningZooKeeper, worker: Worker
) -> None:
    async def scene() -> None:
        ids = CONTROLLER_ID, CONTROLLER_ID + 1
        first, second = [
            OurController(zookeeper, "/followed", worker, broker_id=each) for each in ids
        ]
        await first.start()
        await second.start()
        await asyncio.to_thread(wait_for_result, lambda: second.live_brokers, {*ids})
        await create_topic(first, ids)
        await until_led(second, ids[0], {*ids}, ids)
        assert (first.controller.epoch, second.controller.epoch) == (1, None)

        await first.close()
        await until_led(second, ids[1], {ids[1]}, ids)
        assert second.controller.epoch == 2
        first = OurController(zookeeper, "/followed", worker, broker_id=ids[0])
        await first.start()
        await second.controller.resign()
        await asyncio.to_thread(
            wait_for_result,
            lambda: first.controller.is_active ^ second.controller.is_active,
            wanted=True,
        )
        await first.store.topics.request_deletion(TOPIC)

        async def is_gone() -> bool:
            return not await first.store.topics.names()

        await until(is_gone)
        await first.close()
        await second.close()

    asyncio.run(scene())


class KafkaMembers:
    """Kafka 3.9.1's brokers 1 and 2."""

    def __init__(self, brokers: dict[int, Broker]) -> None:
        self.brokers = brokers

    async def start(self, *broker_ids: int) -> None:
        for each in broker_ids:
            await asyncio.to_thread(self.brokers[each].start)

    async def stop(self, *broker_ids: int) -> None:
        for each in broker_ids:
            await asyncio.to_thread(self.brokers[each].stop)

    async def produce(self, broker_id: int) -> None:
        broker, settings = self.brokers[broker_id], producer_settings("none", is_idempotent=True)
        await asyncio.to_thread(
            broker.oracle.produce, broker.bootstrap, TOPIC, samples.plain(), settings
        )

    async def values(self, broker_id: int) -> list[bytes | None]:
        broker = self.brokers[broker_id]
        records = await asyncio.to_thread(
            broker.oracle.consume, broker.bootstrap, TOPIC, "read_uncommitted"
        )
        return [each.value for each in records]

    async def until_deleted(self, broker_id: int) -> None:
        partition = self.brokers[broker_id].partition(TOPIC)
        await asyncio.to_thread(wait_for_result, partition.exists, wanted=False)


@pytest.fixture
def members(
    zookeeper: RunningZooKeeper, kafka39_jars: Jars, kafka39: Oracle, tmp_path: Path
) -> Iterator[KafkaMembers]:
    brokers = dict[int, Broker]()
    with ExitStack() as stack:
        for each in (1, 2):
            folder = tmp_path / str(each)
            folder.mkdir()
            brokers[each] = member39_in(
                zookeeper,
                "/led",
                broker_id=each,
                jars=kafka39_jars,
                folder=folder,
                oracle=kafka39,
            )
            stack.callback(brokers[each].stop)
        yield KafkaMembers(brokers)


SENT: Final = [each.value for each in samples.plain()]


async def reassign(ours: OurController, replicas: tuple[int, ...]) -> None:
    """Begin a reassignment."""
    wanted = ReassignablePartition(partition_index=0, replicas=[*replicas])
    response = await ours.controller.submit(
        AlterPartitionReassignmentsRequest(
            topics=[ReassignableTopic(name=TOPIC, partitions=[wanted])]
        ),
        AlterPartitionReassignmentsResponse,
        version=1,
    )
    assert response.responses[0].partitions[0].error_code == 0, response


async def check_controlled_shutdown(ours: OurController, members: KafkaMembers) -> None:
    """A broker that stops moves its leaderships away first, and returns as a follower."""
    await members.stop(1)
    request, response = ours.served[-1]
    assert isinstance(request, ControlledShutdownRequest)
    assert isinstance(response, ControlledShutdownResponse)
    assert (response.error_code, response.remaining_partitions) == (0, [])
    await until_led(ours, 2, {2})
    await members.produce(2)

    await members.start(1)
    await until_led(ours, 2, {1, 2})
    assert isinstance(ours.served[-1][0], AlterPartitionRequest)


async def check_kill(ours: OurController, members: KafkaMembers) -> None:
    """A broker that is killed loses its leaderships with its session."""
    await asyncio.to_thread(members.brokers[2].kill)
    await until_led(ours, 1, {1})
    assert await members.values(1) == SENT * 2
    await members.start(2)
    await until_led(ours, 1, {1, 2})


async def check_reassignment(ours: OurController, members: KafkaMembers) -> None:
    """A partition leaves a broker, which deletes it, and comes back to it."""
    await reassign(ours, (2,))
    await until_led(ours, 2, {2}, (2,))
    await members.until_deleted(1)
    await reassign(ours, (1, 2))
    await until_led(ours, 2, {1, 2}, (1, 2))
    await members.produce(2)


async def check_election(ours: OurController, members: KafkaMembers) -> None:
    """The preferred leader leads again, and has all records."""
    elected = await ours.controller.submit(
        ElectLeadersRequest(topic_partitions=None), ElectLeadersResponse, version=2
    )
    (result,) = elected.replica_election_results
    assert [each.error_code for each in result.partition_result] == [0]
    await until_led(ours, 1, {1, 2})
    assert await members.values(1) == SENT * 3


async def check_deletion(ours: OurController, members: KafkaMembers) -> None:
    """A topic is removed from the brokers, then from ZooKeeper."""

    async def is_gone() -> bool:
        return TOPIC not in await ours.store.topics.names()

    await ours.store.topics.request_deletion(TOPIC)
    await until(is_gone)
    for each in (1, 2):
        await members.until_deleted(each)


def test_kafkas_brokers_are_led_by_our_controller(
    zookeeper: RunningZooKeeper, worker: Worker, members: KafkaMembers
) -> None:
    async def scene() -> None:
        ours = OurController(zookeeper, "/led", worker)
        try:
            await ours.start()
            await members.start(1, 2)
            await create_topic(ours, (1, 2))
            await until_led(ours, 1, {1, 2})
            await members.produce(1)
            assert await members.values(2) == SENT

            await check_controlled_shutdown(ours, members)
            await check_kill(ours, members)
            await check_reassignment(ours, members)
            await check_election(ours, members)
            await check_deletion(ours, members)
            assert ours.controller.epoch == 1, ours.reports
        finally:
            await members.stop(1, 2)
            await ours.close()

    asyncio.run(scene())
