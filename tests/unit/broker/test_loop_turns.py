"""Requests with many elements: a few elements per turn of the loop."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

import pytest

from cordwood.broker.handlers.cluster import describe_topic_partitions
from cordwood.broker.handlers.configs import (
    describe_configs,
    incremental_alter_configs,
    list_config_resources,
)
from cordwood.broker.handlers.consumer_groups import consumer_group_describe
from cordwood.broker.handlers.coordinators import find_coordinator
from cordwood.broker.handlers.fetch import fetch
from cordwood.broker.handlers.group_offsets import offset_fetch
from cordwood.broker.handlers.groups import delete_groups, describe_groups
from cordwood.broker.handlers.log_dirs import describe_log_dirs
from cordwood.broker.handlers.metadata import metadata
from cordwood.broker.handlers.offsets import (
    delete_records,
    list_offsets,
    offset_for_leader_epoch,
)
from cordwood.broker.handlers.produce import produce
from cordwood.broker.handlers.producers import describe_producers
from cordwood.broker.handlers.topics import create_partitions, create_topics, delete_topics
from cordwood.broker.handlers.transaction_admin import describe_transactions, write_txn_markers
from cordwood.broker.loop_turns import FIRST_TURNS_MS, TURN_MS, LoopTurns, TurnQueue
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.pending_results import next_turn
from cordwood.broker.services import BrokerServices
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.config_codes import ResourceType
from cordwood.core.uuids import NO_UUID
from cordwood.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from cordwood.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from cordwood.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from cordwood.protocol.messages.delete_groups import DeleteGroupsRequest
from cordwood.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from cordwood.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from cordwood.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from cordwood.protocol.messages.describe_groups import DescribeGroupsRequest
from cordwood.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from cordwood.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from cordwood.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from cordwood.protocol.messages.describe_transactions import DescribeTransactionsRequest
from cordwood.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from cordwood.protocol.messages.find_coordinator import FindCoordinatorRequest
from cordwood.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from cordwood.protocol.messages.list_config_resources import ListConfigResourcesRequest
from cordwood.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from cordwood.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
)
from cordwood.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from cordwood.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from cordwood.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from cordwood.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.storage.log_samples import batch

TOPICS: Final = 120
PARTITIONS: Final = 10
MANY: Final = TOPICS * PARTITIONS
NAMES: Final = [f"topic-{number}" for number in range(TOPICS)]


@pytest.fixture(scope="module")
def harness() -> BrokerHarness:
    """Return a broker with many topics."""
    made = BrokerHarness()
    made.broker.turns = TurnQueue(SteppingClock())
    new = [NewTopic(name=name, partitions=PARTITIONS) for name in NAMES]
    run(made.broker.topics.create(new))
    return made


async def turns_of(request: Awaitable[object]) -> int:
    """Return the number of turns of the loop that a request takes."""

    async def wait() -> None:
        await request

    loop, count = asyncio.get_running_loop(), 0
    task = loop.create_task(wait())

    def begin_turn() -> None:
        nonlocal count
        if not task.done():
            count += 1
            loop.call_soon(begin_turn)

    loop.call_soon(begin_turn)
    await task
    return count


class SteppingClock(VirtualClock):
    """A clock of which each reading takes a tenth of a turn."""

    def monotonic_ms(self) -> float:
        self.step()
        return super().monotonic_ms()

    def step(self) -> None:
        self._elapsed_ms += TURN_MS / 10


def stepping_turns() -> LoopTurns:
    return LoopTurns(TurnQueue(SteppingClock()))


def test_requests_that_begin_together_share_the_time() -> None:
    """With first turns of their own, 40 requests would hold up the loop for 40 times as long."""
    requests, elements = 40, 5
    clock = VirtualClock()
    queue, used = TurnQueue(clock), list[float]()

    async def request() -> None:
        turns = LoopTurns(queue)
        for _ in range(elements):
            if turns.is_over:
                await turns.pause()
            clock.advance(ms=0.5)

    async def scene() -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(request()) for _ in range(requests)]
            while not all(each.done() for each in tasks):
                before_ms = clock.monotonic_ms()
                await next_turn()
                used.append(clock.monotonic_ms() - before_ms)

    run(scene())

    at_least_one_each = requests * 0.5
    assert max(used) <= at_least_one_each + FIRST_TURNS_MS
    assert max(used[1:]) <= TURN_MS
    assert sum(used) == requests * elements * 0.5


def test_elements_are_divided_into_turns_of_a_bounded_time() -> None:
    async def scene() -> tuple[list[int], int]:
        seen: list[int] = []

        async def collect() -> None:
            mine = stepping_turns()
            for _ in range(2):
                seen.extend([each async for each in mine.of(range(50))])

        return seen, await turns_of(collect())

    seen, count = run(scene())
    assert seen == [*range(50), *range(50)]
    assert count >= 9


def test_request_with_few_elements_takes_one_turn() -> None:
    async def collect() -> None:
        assert [each async for each in stepping_turns().of(range(9))] == [*range(9)]

    assert run(turns_of(collect())) == 0


def test_light_elements_read_the_clock_once_for_64() -> None:
    clock = VirtualClock()
    turns = LoopTurns(TurnQueue(clock, call_soon=lambda _: None))
    assert not turns.is_over  # the first element
    clock.advance(ms=TURN_MS)

    assert [each for each in range(1, 200) if turns.is_over_at_light()] == [64, 128, 192]


def test_long_requests_continue_one_in_each_turn() -> None:
    """With turns of their own, 40 requests would take 40 times as long in each turn of the loop."""
    queue, starts = TurnQueue(VirtualClock()), list[int]()

    async def request(number: int) -> None:
        await queue.next_turn()
        starts.append(number)

    async def scene() -> list[int]:
        async with asyncio.TaskGroup() as group:
            for number in range(3):
                group.create_task(request(number))
            counts = []
            while len(starts) < 3:
                counts.append(len(starts))
                await next_turn()
        return counts

    counts = run(scene())
    assert starts == [0, 1, 2]
    assert {1, 2} <= {*counts}


def test_long_requests_continue_without_full_collections() -> None:
    """A collection took 131 ms among the responses to 16 requests of 10 KB."""
    queue, before, during = TurnQueue(VirtualClock()), gc.get_threshold(), list[int]()

    async def request(turns: int) -> None:
        for _ in range(turns):
            await queue.next_turn()
            during.append(gc.get_threshold()[2])

    async def scene() -> None:
        async with asyncio.TaskGroup() as group:
            for turns in (1, 3, 5):
                group.create_task(request(turns))
        await next_turn()

    run(scene())
    assert min(during) > 1_000 * before[2]
    assert gc.get_threshold() == before


def test_cancelled_request_does_not_stop_the_others() -> None:
    queue = TurnQueue(VirtualClock())

    async def scene() -> None:
        first = asyncio.get_running_loop().create_task(queue.next_turn())
        await next_turn()
        second = asyncio.get_running_loop().create_task(queue.next_turn())
        first.cancel()
        await second

    run(scene())


Ask: TypeAlias = Callable[[BrokerServices, Callable[[int], RequestContext]], Awaitable[object]]

REQUESTS: Final[Mapping[str, Ask]] = MappingProxyType(
    {
        "metadata": lambda broker, context: metadata(
            broker,
            context(12),
            MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in NAMES]),
        ),
        "metadata of all": lambda broker, context: metadata(
            broker, context(12), MetadataRequest(topics=None)
        ),
        "pages": lambda broker, context: describe_topic_partitions(
            broker,
            context(0),
            DescribeTopicPartitionsRequest(topics=[], response_partition_limit=MANY),
        ),
        "log directories": lambda broker, context: describe_log_dirs(
            broker, context(4), DescribeLogDirsRequest(topics=None)
        ),
        "producers": lambda broker, context: describe_producers(
            broker,
            context(0),
            DescribeProducersRequest(
                topics=[
                    TopicRequest(name=name, partition_indexes=[*range(PARTITIONS)])
                    for name in NAMES
                ]
            ),
        ),
        "configs": lambda broker, context: describe_configs(
            broker,
            context(4),
            DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(
                        resource_type=ResourceType.TOPIC,
                        resource_name=name,
                        configuration_keys=None,
                    )
                    for name in NAMES
                ]
            ),
        ),
        "altered configs": lambda broker, context: incremental_alter_configs(
            broker,
            context(1),
            IncrementalAlterConfigsRequest(
                resources=[
                    AlterConfigsResource(
                        resource_type=ResourceType.TOPIC, resource_name=name, configs=[]
                    )
                    for name in NAMES
                ],
                validate_only=True,
            ),
        ),
        "new topics": lambda broker, context: create_topics(
            broker,
            context(7),
            CreateTopicsRequest(
                topics=[
                    CreatableTopic(
                        name=f"new-{number}",
                        num_partitions=1,
                        replication_factor=1,
                        assignments=[],
                        configs=[],
                    )
                    for number in range(TOPICS)
                ],
                validate_only=True,
            ),
        ),
        "records": lambda broker, context: produce(
            broker,
            context(9),
            ProduceRequest(
                acks=1,
                timeout_ms=1000,
                topics=[
                    TopicProduceData(
                        name=name,
                        partitions=[PartitionProduceData(index=0, records=memoryview(batch()))],
                    )
                    for name in NAMES
                ],
            ),
        ),
        "fetched records": lambda broker, context: fetch(
            broker,
            context(12),
            FetchRequest(
                max_wait_ms=0,
                min_bytes=1,
                topics=[
                    FetchTopic(
                        topic=name,
                        partitions=[
                            FetchPartition(partition=each, fetch_offset=0, partition_max_bytes=1)
                            for each in range(PARTITIONS)
                        ],
                    )
                    for name in NAMES
                ],
            ),
        ),
        "offsets": lambda broker, context: list_offsets(
            broker,
            context(7),
            ListOffsetsRequest(
                replica_id=-1,
                topics=[
                    ListOffsetsTopic(
                        name=name,
                        partitions=[
                            ListOffsetsPartition(partition_index=each, timestamp=-1)
                            for each in range(PARTITIONS)
                        ],
                    )
                    for name in NAMES
                ],
            ),
        ),
        "ends of epochs": lambda broker, context: offset_for_leader_epoch(
            broker,
            context(4),
            OffsetForLeaderEpochRequest(
                topics=[
                    OffsetForLeaderTopic(
                        topic=name,
                        partitions=[
                            OffsetForLeaderPartition(partition=each, leader_epoch=0)
                            for each in range(PARTITIONS)
                        ],
                    )
                    for name in NAMES
                ]
            ),
        ),
        "names of resources": lambda broker, context: list_config_resources(
            broker, context(1), ListConfigResourcesRequest(resource_types=[])
        ),
        "coordinators": lambda broker, context: find_coordinator(
            broker, context(4), FindCoordinatorRequest(coordinator_keys=NAMES)
        ),
        "groups": lambda broker, context: describe_groups(
            broker, context(5), DescribeGroupsRequest(groups=NAMES)
        ),
        "consumer groups": lambda broker, context: consumer_group_describe(
            broker,
            context(1),
            ConsumerGroupDescribeRequest(group_ids=NAMES, include_authorized_operations=False),
        ),
        "deleted groups": lambda broker, context: delete_groups(
            broker, context(2), DeleteGroupsRequest(group_names=NAMES)
        ),
        "offsets of groups": lambda broker, context: offset_fetch(
            broker,
            context(8),
            OffsetFetchRequest(
                groups=[OffsetFetchRequestGroup(group_id=name, topics=None) for name in NAMES]
            ),
        ),
        "transactions": lambda broker, context: describe_transactions(
            broker, context(0), DescribeTransactionsRequest(transactional_ids=NAMES)
        ),
        "markers": lambda broker, context: write_txn_markers(
            broker,
            context(2),
            WriteTxnMarkersRequest(
                markers=[
                    WritableTxnMarker(
                        producer_id=1,
                        producer_epoch=0,
                        transaction_result=False,
                        coordinator_epoch=0,
                        topics=[
                            WritableTxnMarkerTopic(name=name, partition_indexes=[99])
                            for name in NAMES
                        ],
                    )
                ]
            ),
        ),
        "deleted topics": lambda broker, context: delete_topics(
            broker,
            context(6),
            DeleteTopicsRequest(
                topics=[
                    DeleteTopicState(name=f"missing-{name}", topic_id=NO_UUID) for name in NAMES
                ],
                timeout_ms=1000,
            ),
        ),
        "more partitions": lambda broker, context: create_partitions(
            broker,
            context(3),
            CreatePartitionsRequest(
                topics=[
                    CreatePartitionsTopic(name=name, count=PARTITIONS + 1, assignments=None)
                    for name in NAMES
                ],
                timeout_ms=1000,
                validate_only=True,
            ),
        ),
        "deleted records": lambda broker, context: delete_records(
            broker,
            context(2),
            DeleteRecordsRequest(
                timeout_ms=1000,
                topics=[
                    DeleteRecordsTopic(
                        name=name,
                        partitions=[
                            DeleteRecordsPartition(partition_index=each, offset=0)
                            for each in range(PARTITIONS)
                        ],
                    )
                    for name in NAMES
                ],
            ),
        ),
    }
)


@pytest.mark.parametrize("name", REQUESTS)
def test_request_with_many_elements_takes_many_turns(harness: BrokerHarness, name: str) -> None:
    async def scene() -> int:
        return await turns_of(REQUESTS[name](harness.broker, harness.context))

    assert run(scene()) >= 6
