"""Offsets by timestamp or special value, from each partition's leader (Java: `OffsetFetcher`)."""

import asyncio
from collections.abc import Mapping
from typing import Final, NamedTuple

from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.response_errors import ensure_success
from cordwood.client.topic_partitions import by_topic, partitions_of
from cordwood.core.errors import UnknownLeaderEpochError
from cordwood.core.types import NO_LEADER_EPOCH, TopicPartition
from cordwood.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from cordwood.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

EARLIEST: Final = -2
LATEST: Final = -1
MAX_TIMESTAMP: Final = -3

_CONSUMER: Final = -1


class FoundOffset(NamedTuple):
    """Offset and timestamp of a record (Java: `OffsetAndTimestamp`).

    Both are -1 if every record is older than the requested timestamp.
    """

    offset: int
    timestamp: int
    leader_epoch: int


async def list_offsets(
    client: NetworkClient, timestamps: Mapping[TopicPartition, int], *, isolation_level: int = 0
) -> dict[TopicPartition, FoundOffset]:
    """Return each partition's offset for a timestamp, or for EARLIEST, LATEST or MAX_TIMESTAMP.

    All leaders are queried in parallel, each with one request.
    """

    async def send(
        leader: int, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, FoundOffset]:
        request = ListOffsetsRequest(
            replica_id=_CONSUMER,
            isolation_level=isolation_level,
            topics=[
                ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsPartition(
                            partition_index=each.partition,
                            current_leader_epoch=_current_epoch(client, each),
                            timestamp=timestamps[each],
                        )
                        for each in members
                    ],
                )
                for topic, members in by_topic(partitions).items()
            ],
            timeout_ms=client.settings.request_timeout_ms,
        )
        return _found(client, await client.send(leader, request, kind=ListOffsetsResponse))

    async def attempt() -> dict[TopicPartition, FoundOffset]:
        leaders = await client.leaders(timestamps)
        found = await asyncio.gather(*(send(leader, each) for leader, each in leaders.items()))
        return {partition: offset for each in found for partition, offset in each.items()}

    return await client.retry_until_timeout(attempt)


def _found(
    client: NetworkClient, response: ListOffsetsResponse
) -> dict[TopicPartition, FoundOffset]:
    found: dict[TopicPartition, FoundOffset] = {}
    for topic in response.topics:
        for result in topic.partitions:
            (partition,) = partitions_of([(topic.name, result.partition_index)])
            _ensure_success(client, partition, result.error_code)
            found[partition] = FoundOffset(result.offset, result.timestamp, result.leader_epoch)
    return found


async def ends_of_epochs(
    client: NetworkClient, epochs: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Return the end offset of each leader epoch in the log of the leader; -1 if it is unknown.

    All leaders are queried in parallel, each with one request.
    """

    async def send(leader: int, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        topics = [
            OffsetForLeaderTopic(
                topic=topic,
                partitions=[
                    OffsetForLeaderPartition(
                        partition=each.partition,
                        current_leader_epoch=_current_epoch(client, each),
                        leader_epoch=epochs[each],
                    )
                    for each in members
                ],
            )
            for topic, members in by_topic(partitions).items()
        ]
        request = OffsetForLeaderEpochRequest(replica_id=_CONSUMER, topics=topics)
        return _ends(client, await client.send(leader, request, kind=OffsetForLeaderEpochResponse))

    async def attempt() -> dict[TopicPartition, int]:
        leaders = await client.leaders(epochs)
        found = await asyncio.gather(*(send(leader, each) for leader, each in leaders.items()))
        return {partition: end for each in found for partition, end in each.items()}

    return await client.retry_until_timeout(attempt) if epochs else {}


def _ends(
    client: NetworkClient, response: OffsetForLeaderEpochResponse
) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for topic in response.topics:
        for result in topic.partitions:
            (partition,) = partitions_of([(topic.topic, result.partition)])
            _ensure_success(client, partition, result.error_code)
            found[partition] = result.end_offset
    return found


async def end_of_epoch(
    client: NetworkClient, partition: TopicPartition, *, epoch: int
) -> tuple[int, int]:
    """Return the leader's largest epoch not above `epoch`, and that epoch's end offset."""
    (leader,) = await client.leaders([partition])
    partition_request = OffsetForLeaderPartition(
        partition=partition.partition,
        current_leader_epoch=_current_epoch(client, partition),
        leader_epoch=epoch,
    )
    request = OffsetForLeaderEpochRequest(
        replica_id=_CONSUMER,
        topics=[OffsetForLeaderTopic(topic=partition.topic, partitions=[partition_request])],
    )
    response = await client.send(leader, request, kind=OffsetForLeaderEpochResponse)
    (result,) = (each for topic in response.topics for each in topic.partitions)
    ensure_success(result.error_code, subject=str(partition))
    return result.leader_epoch, result.end_offset


def _current_epoch(client: NetworkClient, partition: TopicPartition) -> int:
    """Return the leader epoch of the metadata, which a leader with another one rejects."""
    state = client.cluster.partition(*partition)
    return NO_LEADER_EPOCH if state is None else state.leader_epoch


def _ensure_success(client: NetworkClient, partition: TopicPartition, error_code: int) -> None:
    """Raise the error of a partition; note a leader whose epoch is lower than that of the
    metadata.
    """
    if error_code == UnknownLeaderEpochError.code:
        client.rejected.add(partition)
    ensure_success(error_code, subject=str(partition))


def offsets_of(found: Mapping[TopicPartition, FoundOffset]) -> dict[TopicPartition, int]:
    """Return the offsets alone."""
    return {partition: place.offset for partition, place in found.items()}
