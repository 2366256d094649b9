"""Offset lookups at each partition's leader."""

from functools import partial

import pytest

from cordwood.client.consumer.offset_fetcher import (
    EARLIEST,
    LATEST,
    FoundOffset,
    end_of_epoch,
    ends_of_epochs,
    list_offsets,
)
from cordwood.client.network.cluster import LOWER_ANSWERS
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import RequestTimedOutError, UnsupportedForMessageFormatError
from cordwood.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from cordwood.protocol.messages.metadata import MetadataRequest, MetadataResponse
from cordwood.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from tests.unit.client.fake_broker import UNKNOWN_LEADER_EPOCH, FakeBroker, broker, run
from tests.unit.client.samples import routed

FIRST, SECOND = partitions_of([("t", 0), ("t", 1)])


def response(error_code: int) -> ListOffsetsResponse:
    partition = ListOffsetsPartitionResponse(partition_index=0, error_code=error_code)
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=[partition])])


def test_offsets_are_found_for_every_partition() -> None:
    async def scene() -> None:
        async with broker(t=2) as fake, routed(fake.address) as client:
            fake.ends["t", 1] = 5
            found = await list_offsets(client, {FIRST: EARLIEST, SECOND: LATEST})
            assert found == {FIRST: FoundOffset(0, -1, 0), SECOND: FoundOffset(5, -1, 0)}

    run(scene())


def test_offsets_are_looked_up_again_after_a_leader_change() -> None:
    async def scene() -> None:
        async with broker(t=2) as fake, routed(fake.address) as client:
            fake.script(ListOffsetsRequest, lambda _: response(6))
            assert (await list_offsets(client, {FIRST: LATEST}))[FIRST].offset == 0

    run(scene())


def test_lookups_end_where_the_cluster_has_lost_its_metadata() -> None:
    async def scene() -> None:
        async with broker(t=2) as fake, routed(fake.address) as client:
            fake.leader_epoch = 5
            await client.topic("t", timeout_ms=60_000)
            fake.leader_epoch = 2
            rejection = response(UNKNOWN_LEADER_EPOCH)
            fake.script(ListOffsetsRequest, *[lambda _: rejection] * LOWER_ANSWERS)
            await list_offsets(client, {FIRST: LATEST})
            epochs = [client.cluster.partition(*each) for each in (FIRST, SECOND)]
            assert [each and each.leader_epoch for each in epochs] == [2, 5]

    run(scene())


def test_error_names_the_partition() -> None:
    async def scene() -> None:
        async with broker(t=2) as fake, routed(fake.address) as client:
            fake.script(ListOffsetsRequest, lambda _: response(43))
            with pytest.raises(UnsupportedForMessageFormatError, match="t-0"):
                await list_offsets(client, {FIRST: 7})

    run(scene())


def test_unresponsive_broker_is_named_and_delays_no_other() -> None:
    async def scene() -> None:
        async with (
            broker(t=2) as hanging,
            broker(t=2) as other,
            routed(other.address, request_timeout_ms=50, default_api_timeout_ms=400) as client,
        ):
            hanging.script(ListOffsetsRequest, *[lambda _: None] * 9)
            other.script(MetadataRequest, *[partial(_shared, hanging, other)] * 9)
            with pytest.raises(RequestTimedOutError, match=f"{hanging.address} did not answer"):
                await list_offsets(client, {FIRST: LATEST, SECOND: LATEST})
            assert other.requests(ListOffsetsRequest)

    run(scene())


def _shared(first: FakeBroker, second: FakeBroker, request: MetadataRequest) -> MetadataResponse:
    """Return metadata in which each of two brokers leads one partition."""
    response = first.metadata(request)
    response.brokers += second.metadata(request).brokers
    for number, leader in enumerate(response.brokers):
        leader.node_id = number
        for topic in response.topics:
            topic.partitions[number].leader_id = number
    return response


def test_end_of_an_epoch_is_the_leaders() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, routed(fake.address) as client:
            end = EpochEndOffset(error_code=0, partition=0, leader_epoch=2, end_offset=30)
            topic = OffsetForLeaderTopicResult(topic="t", partitions=[end])
            fake.script(
                OffsetForLeaderEpochRequest, lambda _: OffsetForLeaderEpochResponse(topics=[topic])
            )
            assert await end_of_epoch(client, FIRST, epoch=3) == (2, 30)

    run(scene())


def test_ends_of_leader_epochs_are_found_for_every_partition() -> None:
    async def scene() -> None:
        async with broker(t=2) as fake, routed(fake.address) as client:
            fake.leader_epoch = 3
            fake.ends["t", 1] = 5
            found = await ends_of_epochs(client, {FIRST: 3, SECOND: 3})
            assert found == {FIRST: 0, SECOND: 5}
            assert len(fake.requests(OffsetForLeaderEpochRequest)) == 1
            assert await ends_of_epochs(client, {}) == {}

    run(scene())


def test_lookup_of_an_epoch_is_retried_with_new_metadata() -> None:
    def refuse(_: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        partition = EpochEndOffset(error_code=6, partition=0)
        topic = OffsetForLeaderTopicResult(topic="t", partitions=[partition])
        return OffsetForLeaderEpochResponse(topics=[topic])

    async def scene() -> None:
        async with broker(t=1) as fake, routed(fake.address) as client:
            fake.script(OffsetForLeaderEpochRequest, refuse)
            assert await ends_of_epochs(client, {FIRST: 0}) == {FIRST: 0}

    run(scene())
