"""Partitions of a fetch request, each once (Kafka: `FetchRequest.fetchData`)."""

from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.partitions.fetch_sessions import (
    FIRST_BY_ID,
    CachedPartition,
    Key,
    RequestedPartitions,
)
from cordwood.protocol.messages.fetch import FetchRequest


async def partitions_of(
    request: FetchRequest, version: int, *, turns: LoopTurns
) -> RequestedPartitions:
    """Return the partitions of a request."""
    is_by_id = version >= FIRST_BY_ID
    requested = dict[Key, CachedPartition]()
    forgotten = list[Key]()
    for topic in request.topics:
        reference = topic.topic_id if is_by_id else topic.topic
        for each in topic.partitions:
            if turns.is_over:
                await turns.pause()
            key = reference, each.partition
            requested[key] = CachedPartition(key, each)
    for left in request.forgotten_topics:
        reference = left.topic_id if is_by_id else left.topic
        for index in left.partitions:
            if turns.is_over:
                await turns.pause()
            forgotten.append((reference, index))
    return RequestedPartitions(requested, forgotten)
