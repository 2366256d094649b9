"""Tests of the handlers of committed offsets, on a broker with its logs."""

import pytest

from cordwood.broker.handlers import group_offsets
from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.network.pending_response import PendingResponse
from cordwood.core.errors import RequestTimedOutError
from cordwood.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from cordwood.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from cordwood.records.batch_stream import batches as batches_of
from tests.unit.broker.broker_samples import BrokerHarness, meanwhile, run, turns
from tests.unit.broker.coordinators.coordinator_samples import coordinating, locate


async def committed(harness: BrokerHarness, request: OffsetCommitRequest) -> OffsetCommitResponse:
    """Return the response of a commit, once it is known."""
    context = harness.context(9)
    answer: object = await group_offsets.offset_commit(harness.broker, context, request)
    if isinstance(answer, PendingResponse):
        answer = await answer.response()
    assert isinstance(answer, OffsetCommitResponse)
    return answer


async def commit(harness: BrokerHarness, offset: int, topic: str = "orders") -> list[int]:
    """Commit an offset in both partitions; return the error codes."""
    request = OffsetCommitRequest(
        group_id="g",
        member_id="",
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=number, committed_offset=offset, committed_metadata=""
                    )
                    for number in range(2)
                ],
            )
        ],
    )
    answer = await committed(harness, request)
    return [each.error_code for each in answer.topics[0].partitions]


async def fetch(harness: BrokerHarness, version: int = 8) -> OffsetFetchResponse:
    topics = [OffsetFetchRequestTopic(name="orders", partition_indexes=[0])]
    if version < 8:
        request = OffsetFetchRequest(group_id="g", topics=topics)
    else:
        groups = [OffsetFetchRequestGroup(group_id=each, topics=topics) for each in ("g", "h")]
        request = OffsetFetchRequest(groups=groups)
    return await group_offsets.offset_fetch(harness.broker, harness.context(version), request)


async def delete(harness: BrokerHarness, group_id: str = "g") -> tuple[int, list[int]]:
    partitions = [OffsetDeleteRequestPartition(partition_index=0)]
    request = OffsetDeleteRequest(
        group_id=group_id, topics=[OffsetDeleteRequestTopic(name="orders", partitions=partitions)]
    )
    answer = await group_offsets.offset_delete(harness.broker, harness.context(0), request)
    codes = [each.error_code for topic in answer.topics for each in topic.partitions]
    return answer.error_code, codes


def test_committed_offset_is_fetched() -> None:
    async def scene() -> tuple[list[int], list[tuple[str, int]]]:
        async with coordinating() as harness:
            await locate(harness)
            codes = await commit(harness, 7)
            answer = await fetch(harness)
            return codes, [
                (each.group_id, each.topics[0].partitions[0].committed_offset)
                for each in answer.groups
            ]

    assert run(scene()) == ([0, 0], [("g", 7), ("h", -1)])


def test_committed_offset_survives_a_restart_of_the_coordinator() -> None:
    async def scene() -> int:
        async with coordinating() as harness:
            await locate(harness)
            await commit(harness, 7)
            await commit(harness, 8)
            groups = harness.broker.coordinators.groups
            log = groups.runtime.log(groups.partition_of("g"))
            assert log is not None
            groups.runtime.resign(log.partition)
            groups.runtime.elect(log)
            await turns(20)
            answer = await fetch(harness, version=7)
            return answer.topics[0].partitions[0].committed_offset

    assert run(scene()) == 8


def test_offset_of_a_missing_topic_is_rejected() -> None:
    async def scene() -> list[int]:
        async with coordinating() as harness:
            await locate(harness)
            return await commit(harness, 7, topic="none")

    assert run(scene()) == [3, 3]


def test_offsets_of_a_deleted_topic_are_removed() -> None:
    async def scene() -> int:
        async with coordinating() as harness:
            await locate(harness)
            await commit(harness, 7)
            image = harness.metadata.image
            harness.metadata.publish(image.without_topic("orders"))
            await turns(20)
            harness.metadata.publish(harness.metadata.image.with_topic(image.topics["orders"]))
            await turns(20)
            answer = await fetch(harness, version=7)
            return answer.topics[0].partitions[0].committed_offset

    assert run(scene()) == -1


def test_deleted_offset_is_not_fetched_any_more() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinating() as harness:
            await locate(harness)
            await commit(harness, 7)
            deleted, missing = await delete(harness), await delete(harness, "none")
            answer = await fetch(harness, version=7)
            return deleted, missing, answer.topics[0].partitions[0].committed_offset

    assert run(scene()) == ((0, [0]), (69, []), -1)


@pytest.mark.parametrize(
    ("version", "found"), ((1, ([16], 0, [])), (7, ([], 16, [])), (8, ([], 0, [16, 16])))
)
def test_quirk_22_error_of_a_fetch_is_where_the_version_has_a_place_for_it(
    version: int, found: tuple[list[int], int, list[int]]
) -> None:
    async def scene() -> tuple[list[int], int, list[int]]:
        async with coordinating() as harness:
            answer = await fetch(harness, version)
            return (
                [each.error_code for topic in answer.topics for each in topic.partitions],
                answer.error_code,
                [each.error_code for each in answer.groups],
            )

    assert run(scene()) == found


async def host_many(harness: BrokerHarness) -> None:
    """Let the topic have 600 partitions."""
    await locate(harness)
    image = harness.metadata.image
    orders = image.topics["orders"]
    large = type(orders)("orders", orders.topic_id, (*orders.partitions,) * 300)
    harness.metadata.publish(image.with_topic(large))
    await turns(20)


def test_deletion_of_many_partitions_has_one_result_for_each() -> None:
    async def scene() -> list[tuple[str, int]]:
        async with coordinating() as harness:
            await host_many(harness)
            await commit(harness, 7)
            partitions = [OffsetDeleteRequestPartition(partition_index=each) for each in range(600)]
            topic = OffsetDeleteRequestTopic(name="orders", partitions=partitions * 2)
            request = OffsetDeleteRequest(group_id="g", topics=[topic, topic])
            answer = await group_offsets.offset_delete(harness.broker, harness.context(0), request)
            return [(each.name, len(each.partitions)) for each in answer.topics]

    assert run(scene()) == [("orders", 600)]


def test_commit_and_fetch_of_many_partitions_take_several_turns() -> None:
    async def scene() -> tuple[int, set[int], int]:
        async with coordinating() as harness:
            await host_many(harness)
            request = OffsetCommitRequest(
                group_id="g",
                member_id="",
                topics=[
                    OffsetCommitRequestTopic(
                        name="orders",
                        partitions=[
                            OffsetCommitRequestPartition(
                                partition_index=each, committed_offset=1, committed_metadata=""
                            )
                            for each in range(600)
                        ],
                    )
                ],
            )
            answer = await committed(harness, request)
            codes = {each.error_code for topic in answer.topics for each in topic.partitions}
            wanted = OffsetFetchRequestTopic(name="orders", partition_indexes=[*range(600)])
            group = OffsetFetchRequestGroup(group_id="g", topics=[wanted])
            found = await group_offsets.offset_fetch(
                harness.broker, harness.context(9), OffsetFetchRequest(groups=[group])
            )
            offsets = [each for topic in found.groups[0].topics for each in topic.partitions]
            groups = harness.broker.coordinators.groups
            log = harness.broker.coordinators.group_log(groups.partition_of("g"))
            batches = [each async for chunk in log.load() for each in batches_of(chunk)]
            return len(batches), codes, len(offsets)

    assert run(scene()) == (3, {0}, 600)


@pytest.mark.parametrize("version", (7, 9))
def test_all_of_many_offsets_are_fetched_in_several_turns(version: int) -> None:
    async def scene() -> tuple[list[int], int]:
        async with coordinating() as harness:
            await host_many(harness)
            partitions = [
                OffsetCommitRequestPartition(
                    partition_index=each, committed_offset=each, committed_metadata=""
                )
                for each in range(600)
            ]
            topics = [OffsetCommitRequestTopic(name="orders", partitions=partitions)]
            commits = OffsetCommitRequest(group_id="g", member_id="", topics=topics)
            await committed(harness, commits)
            group = OffsetFetchRequestGroup(group_id="g", topics=None)
            request = OffsetFetchRequest(group_id="g", topics=None, groups=[group])
            context = harness.context(version)
            answer = await group_offsets.offset_fetch(harness.broker, context, request)
            (topic,) = answer.topics if version < 8 else answer.groups[0].topics
            return [each.committed_offset for each in topic.partitions], answer.error_code

    assert run(scene()) == ([*range(600)], 0)


def test_every_partition_has_the_error_of_a_commit() -> None:
    async def scene() -> tuple[list[int], tuple[int, list[int]]]:
        async with coordinating() as harness:
            return await commit(harness, 7), await delete(harness)

    assert run(scene()) == ([16, 16], (16, []))


def fetched(
    *groups: OffsetFetchRequestGroup, topics: list[OffsetFetchRequestTopic] | None = None
) -> list[tuple[str, list[tuple[str, list[int]]]]]:
    """Fetch after commits of both partitions; return the partitions of the response."""

    async def scene() -> OffsetFetchResponse:
        async with coordinating() as harness:
            await locate(harness)
            await commit(harness, 7)
            version = 9 if groups else 7
            request = OffsetFetchRequest(group_id="g", topics=topics, groups=[*groups])
            return await group_offsets.offset_fetch(
                harness.broker, harness.context(version), request
            )

    answer = run(scene())
    found = [(each.group_id, each.topics) for each in answer.groups] or [("g", answer.topics)]
    return [
        (
            name,
            [
                (each.name, [one.partition_index for one in each.partitions])
                for each in answer_topics
            ],
        )
        for name, answer_topics in found
    ]


def of_orders(*partitions: int) -> OffsetFetchRequestTopic:
    return OffsetFetchRequestTopic(name="orders", partition_indexes=[*partitions])


def test_group_that_is_named_twice_is_answered_once() -> None:
    """One group with all its offsets could be repeated 49,000 times in one response."""
    first = OffsetFetchRequestGroup(group_id="g", topics=[of_orders(0)])
    second = OffsetFetchRequestGroup(group_id="g", topics=[of_orders(1, 0)])
    every = OffsetFetchRequestGroup(group_id="g", topics=None)

    assert fetched(first, second) == [("g", [("orders", [0, 1])])]
    assert fetched(first, every, every) == [("g", [("orders", [0, 1])])]


def test_partition_that_is_named_twice_is_answered_once() -> None:
    assert fetched(topics=[of_orders(1, 0, 1), of_orders(0)]) == [("g", [("orders", [1, 0])])]


def test_commit_that_is_not_replicated_times_out_and_counts_later() -> None:
    async def scene() -> tuple[list[bool], list[int], int]:
        async with coordinating() as harness:
            await locate(harness)
            await commit(harness, 7)
            groups = harness.broker.coordinators.groups
            number = groups.partition_of("g")
            log = harness.broker.partitions.get("__consumer_offsets", number)
            log.apply(PartitionImage((1, 2), (1, 2), 1, log.leader_epoch))
            waits = (lambda: harness.time.advance(ms=4_999), lambda: harness.time.advance(ms=1))
            over, codes = await meanwhile(commit(harness, 8), *waits)
            log.follower(2, leader_epoch=log.leader_epoch)(log.log.bounds.log_end)
            await turns(20)
            answer = await fetch(harness, version=7)
            return over, codes, answer.topics[0].partitions[0].committed_offset

    assert run(scene()) == ([False, False], [RequestTimedOutError.code] * 2, 8)
