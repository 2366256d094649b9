"""Requests and responses about groups as values (Java: `DescribeConsumerGroupsHandler`, …)."""

from collections.abc import Iterable
from typing import Final

from cordwood.client.admin.group_types import GroupDescription, MemberDescription
from cordwood.client.group_offset import GroupOffset
from cordwood.client.network.response_errors import ensure_success, error_of
from cordwood.client.topic_partitions import by_topic
from cordwood.core.errors import BytesError, GroupIdNotFoundError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.codec import decode
from cordwood.protocol.messages import consumer_group_describe, describe_groups
from cordwood.protocol.messages.internal import ConsumerProtocolAssignment
from cordwood.protocol.messages.offset_delete import (
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseTopic,
)

CONSUMER: Final = "consumer"
CLASSIC: Final = "classic"
_DEAD: Final = "Dead"
_VERSION_BYTES: Final = 2
#: The type of a member that sends ConsumerGroupHeartbeat.
_NEW_PROTOCOL: Final = 1


def consumer_group_of(
    group: consumer_group_describe.DescribedGroup, coordinator: int
) -> GroupDescription:
    """Return the description of a group with the new protocol."""
    return GroupDescription(
        group_id=group.group_id,
        type=CONSUMER,
        protocol_type=CONSUMER,
        state=group.group_state,
        assignor=group.assignor_name,
        coordinator=coordinator,
        members=tuple(_member(each) for each in group.members),
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
    )


def classic_group_of(group: describe_groups.DescribedGroup, coordinator: int) -> GroupDescription:
    """Return the description of a classic group; GroupIdNotFoundError for a dead one."""
    subject = f"group {group.group_id!r}"
    ensure_success(group.error_code, subject=subject, message=group.error_message)
    if group.group_state == _DEAD:
        raise error_of(GroupIdNotFoundError.code, subject=subject)
    is_consumer = group.protocol_type == CONSUMER
    return GroupDescription(
        group_id=group.group_id,
        type=CLASSIC,
        protocol_type=group.protocol_type,
        state=group.group_state,
        assignor=group.protocol_data,
        coordinator=coordinator,
        members=tuple(
            MemberDescription(
                member_id=each.member_id,
                instance_id=each.group_instance_id,
                rack_id=None,
                client_id=each.client_id,
                host=each.client_host,
                epoch=None,
                assignment=_embedded_assignment(each.member_assignment) if is_consumer else (),
                target_assignment=None,
                is_upgraded=None,
            )
            for each in group.members
        ),
        group_epoch=None,
        assignment_epoch=None,
    )


def _member(member: consumer_group_describe.Member) -> MemberDescription:
    return MemberDescription(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        host=member.client_host,
        epoch=member.member_epoch,
        assignment=_assigned(member.assignment),
        target_assignment=_assigned(member.target_assignment),
        is_upgraded=None if member.member_type < 0 else member.member_type == _NEW_PROTOCOL,
    )


def _assigned(assignment: consumer_group_describe.Assignment) -> tuple[TopicPartition, ...]:
    return tuple(
        _partition(topic.topic_name, number)
        for topic in assignment.topic_partitions
        for number in topic.partitions
    )


def _embedded_assignment(data: bytes | bytearray | memoryview) -> tuple[TopicPartition, ...]:
    """Return the partitions in an assignment of the consumer protocol; none if unreadable."""
    if len(data) < _VERSION_BYTES:
        return ()
    last = ConsumerProtocolAssignment.__schema__.versions[1]
    version = min(int.from_bytes(data[:_VERSION_BYTES]), last)
    try:
        found = decode(ConsumerProtocolAssignment, memoryview(data)[_VERSION_BYTES:], version)
    except BytesError:
        return ()
    return tuple(
        _partition(topic.topic, number)
        for topic in found.assigned_partitions
        for number in topic.partitions
    )


def fetch_topics(partitions: Iterable[TopicPartition]) -> list[OffsetFetchRequestTopic]:
    """Return the topics of an OffsetFetch request."""
    return [
        OffsetFetchRequestTopic(name=topic, partition_indexes=[each.partition for each in numbers])
        for topic, numbers in by_topic(partitions).items()
    ]


def committed_of(response: OffsetFetchResponse, group_id: str) -> dict[TopicPartition, GroupOffset]:
    """Return the committed offsets of a group; a partition without one is absent."""
    code, topics = _group_of(response)
    ensure_success(code, subject=f"group {group_id!r}")
    found: dict[TopicPartition, GroupOffset] = {}
    for topic in topics:
        for each in topic.partitions:
            partition = _partition(topic.name, each.partition_index)
            ensure_success(each.error_code, subject=f"group {group_id!r}, {partition}")
            if each.committed_offset >= 0:
                found[partition] = GroupOffset(
                    each.committed_offset, each.metadata or "", each.committed_leader_epoch
                )
    return found


def _group_of(response: OffsetFetchResponse) -> tuple[int, list[OffsetFetchResponseTopic]]:
    if response.groups:
        (group,) = response.groups
        return group.error_code, group.topics
    return response.error_code, response.topics


def delete_topics(partitions: Iterable[TopicPartition]) -> list[OffsetDeleteRequestTopic]:
    """Return the topics of an OffsetDelete request."""
    return [
        OffsetDeleteRequestTopic(
            name=topic,
            partitions=[
                OffsetDeleteRequestPartition(partition_index=each.partition) for each in numbers
            ],
        )
        for topic, numbers in by_topic(partitions).items()
    ]


def _partition(topic: str, number: int) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(number))
