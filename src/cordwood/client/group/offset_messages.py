"""Requests and responses of committed offsets (Java: `OffsetCommitRequest.Builder`, ...).

Version 10 of both names topics by id, earlier ones by name; a request has both, and the codec of
the version takes its own. A topic of a response is found by either.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple, Protocol, TypeVar

from cordwood.client.group.membership import MemberIdentity
from cordwood.client.group_offset import GroupOffset
from cordwood.client.network.cluster import Cluster
from cordwood.client.topic_partitions import by_topic, partitions_of
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

T = TypeVar("T")
P = TypeVar("P")
P_co = TypeVar("P_co", covariant=True)


class FetchedOffset(NamedTuple):
    """Committed offset of a partition, None if there is none, or the error code."""

    partition: TopicPartition
    error_code: int
    committed: GroupOffset | None


class OffsetPartitionClass(Protocol[P_co]):
    """Class of a partition in a request that commits its offset."""

    def __call__(
        self,
        *,
        partition_index: int,
        committed_offset: int,
        committed_leader_epoch: int,
        committed_metadata: str | None,
    ) -> P_co:
        """Return the partition with its next offset to consume."""


#: First version with several groups in one request.
BATCHED_SINCE = 8


def offset_topics(
    offsets: Mapping[TopicPartition, GroupOffset],
    *,
    topic_of: Callable[[str, list[P]], T],
    partition_of: OffsetPartitionClass[P],
) -> list[T]:
    """Return the topics of a request that commits offsets, from its classes."""
    return [
        topic_of(
            topic,
            [
                partition_of(
                    partition_index=each.partition,
                    committed_offset=offsets[each].offset,
                    committed_leader_epoch=offsets[each].leader_epoch,
                    committed_metadata=offsets[each].metadata,
                )
                for each in members
            ],
        )
        for topic, members in by_topic(offsets).items()
    ]


def commit_topics(
    offsets: Mapping[TopicPartition, GroupOffset],
    topic_id: Callable[[str], Uuid] = lambda _: NO_UUID,
) -> list[OffsetCommitRequestTopic]:
    """Return the topics of an OffsetCommit request; without `topic_id` they have names only."""

    def topic_of(
        topic: str, partitions: list[OffsetCommitRequestPartition]
    ) -> OffsetCommitRequestTopic:
        return OffsetCommitRequestTopic(name=topic, topic_id=topic_id(topic), partitions=partitions)

    return offset_topics(offsets, topic_of=topic_of, partition_of=OffsetCommitRequestPartition)


def commit_request(
    group_id: str,
    offsets: Mapping[TopicPartition, GroupOffset],
    *,
    identity: MemberIdentity,
    instance_id: str | None,
    cluster: Cluster,
) -> OffsetCommitRequest:
    """Return the request that commits offsets."""
    return OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=identity.epoch,
        member_id=identity.member_id,
        group_instance_id=instance_id,
        topics=commit_topics(offsets, cluster.topic_id),
    )


def commit_errors(
    response: OffsetCommitResponse, cluster: Cluster
) -> list[tuple[TopicPartition, int]]:
    """Return the error code of each partition, 0 without an error."""
    names = cluster.names_by_id()
    pairs = [
        ((topic.name or names.get(topic.topic_id, ""), each.partition_index), each.error_code)
        for topic in response.topics
        for each in topic.partitions
    ]
    partitions = partitions_of(pair for pair, _ in pairs)
    return [(each, code) for each, (_, code) in zip(partitions, pairs, strict=True)]


def fetch_request(
    group_id: str,
    partitions: Collection[TopicPartition],
    *,
    version: int,
    identity: MemberIdentity,
    requires_stable: bool,
    cluster: Cluster,
) -> OffsetFetchRequest:
    """Return the request for the committed offsets of partitions."""
    topics = [
        OffsetFetchRequestTopic(
            name=topic,
            topic_id=cluster.topic_id(topic),
            partition_indexes=[each.partition for each in members],
        )
        for topic, members in by_topic(partitions).items()
    ]
    if version < BATCHED_SINCE:
        is_supported = version >= BATCHED_SINCE - 1
        return OffsetFetchRequest(
            group_id=group_id, topics=topics, require_stable=requires_stable and is_supported
        )
    group = OffsetFetchRequestGroup(
        group_id=group_id,
        member_id=identity.member_id or None,
        member_epoch=identity.epoch,
        topics=topics,
    )
    return OffsetFetchRequest(groups=[group], require_stable=requires_stable)


def fetched_offsets(
    response: OffsetFetchResponse, cluster: Cluster
) -> tuple[int, list[FetchedOffset]]:
    """Return the error code of the request, and the offset of each partition."""
    if response.groups:
        (group,) = response.groups
        return group.error_code, list(_each(group.topics, cluster))
    return response.error_code, list(_each(response.topics, cluster))


def _each(topics: Iterable[OffsetFetchResponseTopic], cluster: Cluster) -> Iterable[FetchedOffset]:
    names = cluster.names_by_id()
    for topic in topics:
        name = topic.name if topic.topic_id == NO_UUID else names.get(topic.topic_id, "")
        for each in topic.partitions:
            (partition,) = partitions_of([(name, each.partition_index)])
            yield FetchedOffset(partition, each.error_code, _committed(each))


def _committed(result: OffsetFetchResponsePartition) -> GroupOffset | None:
    if result.committed_offset < 0:
        return None
    return GroupOffset(
        result.committed_offset, result.metadata or "", result.committed_leader_epoch
    )
