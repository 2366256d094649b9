"""OffsetFetch: the committed offsets of groups (Kafka: `fetchOffsets`, `fetchAllOffsets`).

    without an offset                                  -1, without an error
    require_stable, offset of an open transaction      UNSTABLE_OFFSET_COMMIT
    topic id other than that of the commit             -1, without an error
    topic id unknown                                   UNKNOWN_TOPIC_ID
    group missing                                      as a group without offsets
    member unknown, or its epoch outdated              the error of the group

Null topics are all topics with an offset; by id, those of them that exist. A fetch of many of them
is divided: its parts name the partitions, and have the results that they have in the whole.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from cordwood.coordination.groups.group_registry import GroupRegistry
from cordwood.coordination.offsets.committed_offset import CommittedOffset
from cordwood.coordination.offsets.group_partition_map import GroupPartition
from cordwood.coordination.offsets.offset_store import OffsetStore
from cordwood.coordination.topic_view import TopicView
from cordwood.core.errors import (
    GroupIdNotFoundError,
    KafkaError,
    UnknownTopicIdError,
    UnstableOffsetCommitError,
)
from cordwood.core.types import NO_LEADER_EPOCH, NO_OFFSET
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

_GROUPS_SINCE: Final = 8
_TOPIC_IDS_SINCE: Final = 10
#: Before this version a response has no error of a group: each partition has it.
_GROUP_ERROR_SINCE: Final = 2


class CommittedOffsets(NamedTuple):
    """The state that a fetch reads."""

    store: OffsetStore
    groups: GroupRegistry
    topics: TopicView


def fetch(
    request: OffsetFetchRequest,
    api_version: int,
    *,
    state: CommittedOffsets,
    is_part_of_all: bool = False,
) -> OffsetFetchResponse:
    """Return the offsets of all groups of a request, which are all in this shard.

    With `is_part_of_all` the topics are a part of those that null topics stand for.
    """
    if api_version >= _GROUPS_SINCE:
        is_stable = request.require_stable
        return OffsetFetchResponse(
            groups=[
                _GroupFetch(each, api_version, is_stable, state, is_part_of_all).response()
                for each in request.groups
            ]
        )
    single = OffsetFetchRequestGroup(group_id=request.group_id, topics=request.topics)
    response = _GroupFetch(
        single, api_version, request.require_stable, state, is_part_of_all
    ).response()
    return OffsetFetchResponse(topics=response.topics, error_code=response.error_code)


class _GroupFetch(NamedTuple):
    """The fetch of one group."""

    request: OffsetFetchRequestGroup
    api_version: int
    is_stable: bool
    state: CommittedOffsets
    is_part_of_all: bool

    def response(self) -> OffsetFetchResponseGroup:
        try:
            exists = self._validate()
        except KafkaError as error:
            return self._group_error(error.code)
        offsets = self.state.store.of_group(self.request.group_id) if exists else {}
        if self.request.topics is None:
            topics = self._all(offsets)
        elif self.is_part_of_all:
            topics = self._all(_part_of(offsets, self.request.topics))
        else:
            topics = self._requested(self.request.topics, offsets)
        return OffsetFetchResponseGroup(group_id=self.request.group_id, topics=topics)

    def _validate(self) -> bool:
        """Return whether the group exists."""
        request = self.request
        try:
            group = self.state.groups.get(request.group_id)
            group.validate_offset_fetch(request.member_id, request.member_epoch)
        except GroupIdNotFoundError:
            return False
        return True

    def _group_error(self, code: int) -> OffsetFetchResponseGroup:
        group_id = self.request.group_id
        if self.api_version >= _GROUP_ERROR_SINCE:
            return OffsetFetchResponseGroup(group_id=group_id, topics=[], error_code=code)
        topics = [_failed(each, code) for each in self.request.topics or ()]
        return OffsetFetchResponseGroup(group_id=group_id, topics=topics)

    def _all(
        self, offsets: Mapping[str, Mapping[int, CommittedOffset]]
    ) -> list[OffsetFetchResponseTopic]:
        found = list[OffsetFetchResponseTopic]()
        for name, partitions in offsets.items():
            topic_id = NO_UUID
            if self.api_version >= _TOPIC_IDS_SINCE:
                facts = self.state.topics.by_name(name)
                if facts is None:
                    continue
                topic_id = facts.topic_id
            # Kafka does not compare the topic's id with that of the commit here.
            answers = [self._partition(name, each, offset) for each, offset in partitions.items()]
            found.append(OffsetFetchResponseTopic(name=name, topic_id=topic_id, partitions=answers))
        return found

    def _requested(
        self,
        topics: list[OffsetFetchRequestTopic],
        offsets: Mapping[str, Mapping[int, CommittedOffset]],
    ) -> list[OffsetFetchResponseTopic]:
        found, unknown = list[OffsetFetchResponseTopic](), list[OffsetFetchResponseTopic]()
        for topic in topics:
            name = self._name(topic)
            if name is None:
                unknown.append(_failed(topic, UnknownTopicIdError.code))
                continue
            committed = offsets.get(name, {})
            answers = [
                self._partition(name, each, _valid(committed.get(each), topic.topic_id))
                for each in topic.partition_indexes
            ]
            found.append(
                OffsetFetchResponseTopic(name=name, topic_id=topic.topic_id, partitions=answers)
            )
        return found + unknown

    def _name(self, topic: OffsetFetchRequestTopic) -> str | None:
        """Return the name of a topic, None for an unknown id. A name need not exist any more."""
        if self.api_version < _TOPIC_IDS_SINCE:
            return topic.name
        facts = self.state.topics.by_id(topic.topic_id)
        return None if facts is None else facts.name

    def _partition(
        self, topic: str, partition: int, offset: CommittedOffset | None
    ) -> OffsetFetchResponsePartition:
        at = GroupPartition(self.request.group_id, topic, partition)
        if self.is_stable and self.state.store.is_pending(at):
            return _without_offset(partition, UnstableOffsetCommitError.code)
        if offset is None:
            return _without_offset(partition)
        return OffsetFetchResponsePartition(
            partition_index=partition,
            committed_offset=offset.offset,
            committed_leader_epoch=offset.leader_epoch,
            metadata=offset.metadata,
            error_code=0,
        )


def _part_of(
    offsets: Mapping[str, Mapping[int, CommittedOffset]], topics: list[OffsetFetchRequestTopic]
) -> Mapping[str, Mapping[int, CommittedOffset]]:
    """Return the offsets of some partitions, as far as there still are any."""
    part = dict[str, Mapping[int, CommittedOffset]]()
    for topic in topics:
        committed = offsets.get(topic.name, {})
        found = {each: committed[each] for each in topic.partition_indexes if each in committed}
        if found:
            part[topic.name] = found
    return part


def _valid(offset: CommittedOffset | None, topic_id: Uuid) -> CommittedOffset | None:
    if offset is None or offset.is_of_another_topic(topic_id):
        return None
    return offset


def _without_offset(partition: int, error_code: int = 0) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        partition_index=partition,
        committed_offset=NO_OFFSET,
        committed_leader_epoch=NO_LEADER_EPOCH,
        metadata="",
        error_code=error_code,
    )


def _failed(topic: OffsetFetchRequestTopic, code: int) -> OffsetFetchResponseTopic:
    partitions = [_without_offset(each, code) for each in topic.partition_indexes]
    return OffsetFetchResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions)
