"""Deletion of the offsets of deleted topics (Kafka: `onTopicsDeleted`).

An offset without a topic id, or with that of the deleted topic, is deleted with it, also in open
transactions. An offset with another id belongs to a topic of the same name that was created later.
"""

from collections.abc import Iterable, Iterator

from cordwood.coordination.offsets.committed_offset import CommittedOffset
from cordwood.coordination.offsets.group_partition_map import GroupPartition, GroupPartitionMap
from cordwood.coordination.topic_view import TopicFacts, TopicView


def deleted_topics(
    names: Iterable[str], before: TopicView, *, after: TopicView
) -> list[TopicFacts]:
    """Return those of the named topics that only the earlier view has."""
    known = before.names()
    topics = (before.by_name(each) for each in names if each in known)
    return [each for each in topics if each is not None and after.by_id(each.topic_id) is None]


def offsets_of_topics(
    maps: Iterable[GroupPartitionMap[CommittedOffset]], topics: Iterable[TopicFacts]
) -> Iterator[GroupPartition]:
    """Yield the offsets of deleted topics, in the order of Kafka's tombstones."""
    deleted = list(topics)
    for offsets in maps:
        for group_id in offsets.group_ids():
            by_topic = offsets.of_group(group_id)
            for topic in deleted:
                found = by_topic.get(topic.name, {}).items()
                partitions = (
                    n for n, each in found if not each.is_of_another_topic(topic.topic_id)
                )
                yield from (GroupPartition(group_id, topic.name, each) for each in partitions)
