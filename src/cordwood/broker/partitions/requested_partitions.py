"""Partitions of a fetch request, each once (Kafka: `FetchRequest.fetchData`)."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.partitions.fetch_sessions import FIRST_BY_ID, Key, RequestedPartitions
from cordwood.protocol.messages.fetch import FetchPartition, FetchRequest

T = TypeVar("T")

#: The partitions that are added without a look at the time: about 0.2 ms.
_PER_LOOK: Final = 1_000


async def partitions_of(
    request: FetchRequest, version: int, *, turns: LoopTurns
) -> RequestedPartitions:
    """Return the partitions of a request."""
    is_by_id = version >= FIRST_BY_ID
    requested = dict[Key, FetchPartition]()
    forgotten = list[Key]()
    for topic in request.topics:
        reference = topic.topic_id if is_by_id else topic.topic
        for some in _parts(topic.partitions):
            if turns.is_over:
                await turns.pause()
            requested.update(((reference, each.partition), each) for each in some)
    for left in request.forgotten_topics:
        reference = left.topic_id if is_by_id else left.topic
        for indexes in _parts(left.partitions):
            if turns.is_over:
                await turns.pause()
            forgotten += ((reference, index) for index in indexes)
    return RequestedPartitions(requested, forgotten)


def _parts(partitions: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield parts of a list that are short enough for one turn."""
    for start in range(0, len(partitions), _PER_LOOK):
        yield partitions[start : start + _PER_LOOK]
