"""Partitions of a fetch request, each once (Kafka: `FetchRequest.fetchData`)."""

from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.partitions.fetch_sessions import FIRST_BY_ID, RequestedPartitions
from cordwood.protocol.messages.fetch import FetchRequest


async def partitions_of(
    request: FetchRequest, version: int, *, turns: LoopTurns
) -> RequestedPartitions:
    """Return the partitions of a request."""
    is_by_id = version >= FIRST_BY_ID
    return RequestedPartitions(
        {
            (topic.topic_id if is_by_id else topic.topic, each.partition): each
            async for topic in turns.of(request.topics)
            async for each in turns.of(topic.partitions)
        },
        [
            (topic.topic_id if is_by_id else topic.topic, index)
            async for topic in turns.of(request.forgotten_topics)
            async for index in turns.of(topic.partitions)
        ],
    )
