"""Requests of a follower as messages, and the answers in their responses.

Kafka: `RemoteLeaderEndPoint`. The caller adds the fetch session and the limits of the whole fetch.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

from cordwood.client.consumer.fetch_session_handler import FetchTarget
from cordwood.cluster.partition.partition_fetch_state import FetchPhase, PartitionFetchState
from cordwood.cluster.partition.replica_fetcher import (
    EpochEndAnswer,
    FetchedPartition,
    OffsetAnswer,
    SentPartitions,
)
from cordwood.core.types import LeaderEpoch, Offset, PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.fetch import FetchResponse, PartitionData
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
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEnd

P = TypeVar("P")

_TIMESTAMPS: Final = {FetchPhase.FINDING_END: -1, FetchPhase.FINDING_START: -2}


class FetchAnswer(NamedTuple):
    """A partition of a fetch response: the answer, and the data with the records."""

    answer: FetchedPartition
    data: PartitionData


# -- requests


def epoch_request(sent: SentPartitions, *, node_id: int) -> OffsetForLeaderEpochRequest:
    """Return the question for the end of each log's latest epoch."""
    topics = _by_topic(sent, _epoch_partition)
    return OffsetForLeaderEpochRequest(
        replica_id=node_id,
        topics=[
            OffsetForLeaderTopic(topic=name, partitions=partitions)
            for (name, _), partitions in topics.items()
        ],
    )


def offsets_request(sent: SentPartitions, *, node_id: int) -> ListOffsetsRequest:
    """Return the question for the leader's log end or log start.

    A replica gets the log end as the latest offset, where a consumer gets the high watermark.
    """
    timestamp = _TIMESTAMPS[sent.phase]

    def partition_of(name: TopicPartition, state: PartitionFetchState) -> ListOffsetsPartition:
        return ListOffsetsPartition(
            partition_index=name.partition,
            current_leader_epoch=state.leader_epoch,
            timestamp=timestamp,
        )

    return ListOffsetsRequest(
        replica_id=node_id,
        topics=[
            ListOffsetsTopic(name=name, partitions=partitions)
            for (name, _), partitions in _by_topic(sent, partition_of).items()
        ],
    )


def fetch_targets(
    sent: SentPartitions, log_starts: Mapping[TopicPartition, int], *, max_bytes: int
) -> dict[TopicPartition, FetchTarget]:
    """Return the partitions of a fetch, with the local log starts and `replica.fetch.max.bytes`.

    By the epoch of the last record the leader detects divergence.
    """
    return {
        name: FetchTarget(
            state.fetch_offset,
            state.leader_epoch,
            max_bytes,
            state.topic_id,
            state.last_epoch,
            log_starts[name],
        )
        for name, state in sent.partitions.items()
    }


def _epoch_partition(name: TopicPartition, state: PartitionFetchState) -> OffsetForLeaderPartition:
    return OffsetForLeaderPartition(
        partition=name.partition,
        current_leader_epoch=state.leader_epoch,
        leader_epoch=state.last_epoch,
    )


def _by_topic(
    sent: SentPartitions, partition_of: Callable[[TopicPartition, PartitionFetchState], P]
) -> dict[tuple[TopicName, Uuid], list[P]]:
    topics = dict[tuple[TopicName, Uuid], list[P]]()
    for name, state in sent.partitions.items():
        topics.setdefault((name.topic, state.topic_id), []).append(partition_of(name, state))
    return topics


# -- responses


def epoch_answers(response: OffsetForLeaderEpochResponse) -> Iterator[EpochEndAnswer]:
    """Yield the ends of the epochs."""
    for topic in response.topics:
        for each in topic.partitions:
            end = EpochEnd(LeaderEpoch(each.leader_epoch), Offset(each.end_offset))
            yield EpochEndAnswer(_name(topic.topic, each.partition), each.error_code, end)


def offset_answers(response: ListOffsetsResponse) -> Iterator[OffsetAnswer]:
    """Yield the log ends or log starts."""
    for topic in response.topics:
        for each in topic.partitions:
            name = _name(topic.name, each.partition_index)
            yield OffsetAnswer(name, each.error_code, each.offset)


def fetch_answers(
    response: FetchResponse, names: Mapping[Uuid, TopicName]
) -> Iterator[FetchAnswer]:
    """Yield the partitions of a fetch response; topics that are identified by id have `names`.

    A topic that the request did not have is left out.
    """
    for topic in response.responses:
        name = topic.topic or names.get(topic.topic_id)
        for each in topic.partitions if name else ():
            partition = _name(name or "", each.partition_index)
            end = _diverging_epoch(each)
            yield FetchAnswer(
                FetchedPartition(partition, each.error_code, each.high_watermark, end), each
            )


def _diverging_epoch(data: PartitionData) -> EpochEnd | None:
    found = data.diverging_epoch
    if found is None or found.epoch < 0:
        return None
    return EpochEnd(LeaderEpoch(found.epoch), Offset(found.end_offset))


def _name(topic: str, partition: int) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(partition))
