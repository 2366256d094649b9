"""Offsets by time, or by the name of a place, asked of each partition's leader."""

import asyncio
from collections.abc import Mapping
from typing import Final, NamedTuple

from cordwood.client.places import by_topic, partitions_of
from cordwood.client.refusals import ensure_done
from cordwood.client.router import Router
from cordwood.core.types import TopicPartition
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
    """What was found; both numbers are -1 where nothing is so late."""

    offset: int
    timestamp: int
    leader_epoch: int


async def list_offsets(
    router: Router, wanted: Mapping[TopicPartition, int], *, isolation_level: int = 0
) -> dict[TopicPartition, FoundOffset]:
    """Return the offset that belongs to each partition's timestamp, or to EARLIEST and the like.

    Each leader is asked once, for all that it leads, and all of them at the same time.
    """

    async def ask(
        leader: int, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, FoundOffset]:
        request = ListOffsetsRequest(
            replica_id=_CONSUMER,
            isolation_level=isolation_level,
            topics=[
                ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsPartition(partition_index=each.partition, timestamp=wanted[each])
                        for each in members
                    ],
                )
                for topic, members in by_topic(partitions).items()
            ],
            timeout_ms=router.settings.request_timeout_ms,
        )
        return _found(await router.ask(leader, request, kind=ListOffsetsResponse))

    async def attempt() -> dict[TopicPartition, FoundOffset]:
        leaders = await router.leaders(wanted)
        found = await asyncio.gather(*(ask(leader, each) for leader, each in leaders.items()))
        return {partition: place for each in found for partition, place in each.items()}

    return await router.persist(attempt)


def _found(answer: ListOffsetsResponse) -> dict[TopicPartition, FoundOffset]:
    found: dict[TopicPartition, FoundOffset] = {}
    for topic in answer.topics:
        for told in topic.partitions:
            (place,) = partitions_of([(topic.name, told.partition_index)])
            ensure_done(told.error_code, subject=str(place))
            found[place] = FoundOffset(told.offset, told.timestamp, told.leader_epoch)
    return found


async def end_of_epoch(router: Router, partition: TopicPartition, *, epoch: int) -> tuple[int, int]:
    """Return the largest epoch not above `epoch` that the leader knows, and where it ended."""
    (leader,) = await router.leaders([partition])
    state = router.cluster.partition(*partition)
    asked = OffsetForLeaderPartition(
        partition=partition.partition,
        current_leader_epoch=-1 if state is None else state.leader_epoch,
        leader_epoch=epoch,
    )
    request = OffsetForLeaderEpochRequest(
        replica_id=_CONSUMER,
        topics=[OffsetForLeaderTopic(topic=partition.topic, partitions=[asked])],
    )
    answer = await router.ask(leader, request, kind=OffsetForLeaderEpochResponse)
    (told,) = (each for topic in answer.topics for each in topic.partitions)
    ensure_done(told.error_code, subject=str(partition))
    return told.leader_epoch, told.end_offset
