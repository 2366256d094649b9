"""Records of consumer groups (Kafka: `GroupCoordinatorRecordHelpers`).

    3  group epoch          6  assignment epoch      8   current assignment of a member
    4  topics (Kafka 4.0)   7  target of a member    16  topics of a regular expression
    5  metadata of a member

Kafka rejects the deletion of a member's metadata before that of its assignments, and the deletion
of a group before that of its members. The tombstones here have the order that Kafka writes.
"""

from collections.abc import Iterable
from typing import Final

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.consumer.assignors.group_spec import TopicPartitionSets
from cordwood.coordination.groups.consumer.group.consumer_group_member import ConsumerGroupMember
from cordwood.coordination.groups.consumer.group.subscriptions import ResolvedRegularExpression
from cordwood.coordination.groups.consumer.group.topic_partitions import (
    to_owned_record,
    to_target_record,
)
from cordwood.protocol.messages import internal

GROUP: Final = 3
SUBSCRIPTION_METADATA: Final = 4
MEMBER: Final = 5
TARGET_METADATA: Final = 6
TARGET_MEMBER: Final = 7
CURRENT_ASSIGNMENT: Final = 8
REGULAR_EXPRESSION: Final = 16


def group_epoch(group_id: str, epoch: int, *, metadata_hash: int) -> CoordinatorRecord:
    """Return the record of a group epoch."""
    key = internal.ConsumerGroupMetadataKey(group_id=group_id)
    value = internal.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return CoordinatorRecord(GROUP, key, value)


def subscription_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """Return the deletion of the topics that Kafka 4.0 has written."""
    key = internal.ConsumerGroupPartitionMetadataKey(group_id=group_id)
    return CoordinatorRecord(SUBSCRIPTION_METADATA, key, None)


def member_metadata(group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    """Return the record of the fields that a member has sent."""
    key = internal.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id)
    value = internal.ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
        classic_member_metadata=_classic_metadata(member),
    )
    return CoordinatorRecord(MEMBER, key, value)


def _classic_metadata(member: ConsumerGroupMember) -> internal.ClassicMemberMetadata | None:
    if member.classic is None:
        return None
    return internal.ClassicMemberMetadata(
        session_timeout_ms=member.classic.session_timeout_ms,
        supported_protocols=[
            internal.ClassicProtocol(name=name, metadata=metadata)
            for name, metadata in member.classic.protocols
        ],
    )


def target_metadata(group_id: str, epoch: int, *, timestamp_ms: int) -> CoordinatorRecord:
    """Return the record of an assignment epoch."""
    key = internal.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)
    value = internal.ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=timestamp_ms
    )
    return CoordinatorRecord(TARGET_METADATA, key, value)


def target_member(
    group_id: str, member_id: str, *, partitions: TopicPartitionSets
) -> CoordinatorRecord:
    """Return the record of a member's target."""
    key = internal.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    value = internal.ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=to_target_record(partitions)
    )
    return CoordinatorRecord(TARGET_MEMBER, key, value)


def current_assignment(group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    """Return the record of a member's epoch and partitions."""
    key = internal.ConsumerGroupCurrentMemberAssignmentKey(
        group_id=group_id, member_id=member.member_id
    )
    value = internal.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=member.state.value,
        assigned_partitions=to_owned_record(member.assigned),
        partitions_pending_revocation=to_owned_record(member.pending_revocation),
    )
    return CoordinatorRecord(CURRENT_ASSIGNMENT, key, value)


def regular_expression(
    group_id: str, regex: str, *, resolved: ResolvedRegularExpression
) -> CoordinatorRecord:
    """Return the record of the topics that a regular expression matches."""
    key = internal.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    value = internal.ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.timestamp_ms
    )
    return CoordinatorRecord(REGULAR_EXPRESSION, key, value)


def regular_expression_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    """Return the deletion of a regular expression's topics."""
    key = internal.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    return CoordinatorRecord(REGULAR_EXPRESSION, key, None)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Return the records that delete a member."""
    return [
        _current_assignment_tombstone(group_id, member_id),
        _target_member_tombstone(group_id, member_id),
        _member_metadata_tombstone(group_id, member_id),
    ]


def group_tombstones(
    group_id: str, member_ids: Iterable[str], *, regexes: Iterable[str]
) -> list[CoordinatorRecord]:
    """Return the records that delete a group with its members and regular expressions."""
    member_ids = list(member_ids)
    target_key = internal.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)
    group_key = internal.ConsumerGroupMetadataKey(group_id=group_id)
    return [
        *(_current_assignment_tombstone(group_id, each) for each in member_ids),
        *(_target_member_tombstone(group_id, each) for each in member_ids),
        CoordinatorRecord(TARGET_METADATA, target_key, None),
        *(_member_metadata_tombstone(group_id, each) for each in member_ids),
        *(regular_expression_tombstone(group_id, each) for each in regexes),
        subscription_metadata_tombstone(group_id),
        CoordinatorRecord(GROUP, group_key, None),
    ]


def _current_assignment_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    key = internal.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
    return CoordinatorRecord(CURRENT_ASSIGNMENT, key, None)


def _target_member_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    key = internal.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return CoordinatorRecord(TARGET_MEMBER, key, None)


def _member_metadata_tombstone(group_id: str, member_id: str) -> CoordinatorRecord:
    key = internal.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)
    return CoordinatorRecord(MEMBER, key, None)
