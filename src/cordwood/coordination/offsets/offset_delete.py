"""OffsetDelete: deletes offsets of topics without subscribers (Kafka: `deleteOffsets`).

A partition without an offset is a success too. A topic or partition that is given twice counts
once, as in the collections of Kafka's request.
"""

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.group import Group
from cordwood.coordination.groups.group_registry import GroupRegistry
from cordwood.coordination.offsets.committed_offset import offset_tombstone
from cordwood.coordination.offsets.group_partition_map import GroupPartition
from cordwood.coordination.offsets.known_partitions import KnownTopic, known_by_name
from cordwood.coordination.offsets.offset_store import OffsetStore
from cordwood.coordination.offsets.partition_results import (
    PartitionResult,
    PartitionResults,
    TopicResult,
)
from cordwood.coordination.topic_view import TopicView
from cordwood.core.errors import GroupSubscribedToTopicError, InvalidGroupIdError
from cordwood.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def delete(
    request: OffsetDeleteRequest, groups: GroupRegistry, *, store: OffsetStore, view: TopicView
) -> tuple[list[CoordinatorRecord], OffsetDeleteResponse]:
    """Return tombstones and the response; raise the error of the group."""
    results = PartitionResults()
    known = known_by_name(distinct_topics(request.topics), view, results=results)
    if not request.group_id:
        raise InvalidGroupIdError
    group = groups.get(request.group_id)
    group.validate_offset_delete()
    records = list[CoordinatorRecord]()
    deleted = [_delete_topic(group, each, store=store, records=records) for each in known]
    return records, _response(results.followed_by(deleted))


def _delete_topic(
    group: Group,
    topic: KnownTopic[OffsetDeleteRequestPartition],
    *,
    store: OffsetStore,
    records: list[CoordinatorRecord],
) -> TopicResult:
    if group.is_subscribed(topic.name):
        code = GroupSubscribedToTopicError.code
        results = [PartitionResult(each, code) for each in topic.numbers]
        return TopicResult(topic.name, topic.topic_id, results)
    keys = [GroupPartition(group.group_id, topic.name, each) for each in topic.numbers]
    records += [
        offset_tombstone(key) for key in keys if store.get(key) is not None or store.is_pending(key)
    ]
    results = [PartitionResult(each, 0) for each in topic.numbers]
    return TopicResult(topic.name, topic.topic_id, results)


def distinct_topics(topics: list[OffsetDeleteRequestTopic]) -> list[OffsetDeleteRequestTopic]:
    """Return each topic once, with each partition once; the first topic of a name counts."""
    first = dict[str, OffsetDeleteRequestTopic]()
    for topic in topics:
        first.setdefault(topic.name, topic)
    return [
        OffsetDeleteRequestTopic(
            name=topic.name,
            partitions=list({each.partition_index: each for each in topic.partitions}.values()),
        )
        for topic in first.values()
    ]


def _response(topics: list[TopicResult]) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(
        error_code=0,
        topics=[
            OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponsePartition(partition_index=number, error_code=code)
                    for number, code in topic.partitions
                ],
            )
            for topic in topics
        ],
    )
