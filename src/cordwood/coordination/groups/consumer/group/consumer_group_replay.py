"""Replay of the records of consumer groups (Kafka: the `replay` methods).

Compaction may have removed any record that a later one replaces. A record thus creates the group
or the member that it is about, and a tombstone of something unknown changes nothing.
"""

from typing import Final

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.consumer.group import consumer_group_records as records
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    LEAVE_EPOCH,
    ConsumerGroupMember,
)
from cordwood.coordination.groups.consumer.group.subscriptions import ResolvedRegularExpression
from cordwood.coordination.groups.consumer.group.topic_partitions import from_target_record
from cordwood.coordination.groups.group_registry import GroupRegistry
from cordwood.protocol.messages import internal

RECORD_TYPES: Final = frozenset(
    {
        records.GROUP,
        records.SUBSCRIPTION_METADATA,
        records.MEMBER,
        records.TARGET_METADATA,
        records.TARGET_MEMBER,
        records.CURRENT_ASSIGNMENT,
        records.REGULAR_EXPRESSION,
    }
)
"""The types of the records that `replay` takes."""


def replay(registry: GroupRegistry, record: CoordinatorRecord) -> None:
    """Change the state by one record."""
    key = record.key
    assert isinstance(key, _KEYS), f"{type(key).__name__} is not a key of a consumer group"
    group = _group(registry, key.group_id, is_tombstone=record.value is None)
    if group is None:
        return
    match key:
        case internal.ConsumerGroupMetadataKey():
            _replay_group(registry, group, record)
        case internal.ConsumerGroupPartitionMetadataKey():
            group.has_subscription_metadata = record.value is not None
        case internal.ConsumerGroupTargetAssignmentMetadataKey():
            _replay_target_metadata(group, record)
        case internal.ConsumerGroupMemberMetadataKey():
            _replay_member(group, key.member_id, record)
        case internal.ConsumerGroupTargetAssignmentMemberKey():
            _replay_target(group, key.member_id, record)
        case internal.ConsumerGroupCurrentMemberAssignmentKey():
            _replay_assignment(group, key.member_id, record)
        case _:
            _replay_regex(group, key.regular_expression, record)


_KEYS: Final = (
    internal.ConsumerGroupMetadataKey,
    internal.ConsumerGroupPartitionMetadataKey,
    internal.ConsumerGroupMemberMetadataKey,
    internal.ConsumerGroupTargetAssignmentMetadataKey,
    internal.ConsumerGroupTargetAssignmentMemberKey,
    internal.ConsumerGroupCurrentMemberAssignmentKey,
    internal.ConsumerGroupRegularExpressionKey,
)


def _group(registry: GroupRegistry, group_id: str, *, is_tombstone: bool) -> ConsumerGroup | None:
    """Return the group of a record; one that was simple until now becomes a consumer group."""
    group = registry.by_id.get(group_id)
    if isinstance(group, ConsumerGroup):
        return group
    is_replaceable = group is None or (isinstance(group, ClassicGroup) and group.is_simple)
    if is_tombstone or not is_replaceable:
        return None
    made = ConsumerGroup(group_id)
    registry.put(made)
    return made


def _replay_group(registry: GroupRegistry, group: ConsumerGroup, record: CoordinatorRecord) -> None:
    value = record.value
    if value is None:
        registry.remove(group)
        return
    assert isinstance(value, internal.ConsumerGroupMetadataValue), "a group has a group epoch"
    group.group_epoch = value.epoch
    group.metadata_hash = value.metadata_hash


def _replay_target_metadata(group: ConsumerGroup, record: CoordinatorRecord) -> None:
    value = record.value
    if value is None:
        group.assignment_epoch, group.assignment_timestamp_ms = LEAVE_EPOCH, 0
        return
    assert isinstance(value, internal.ConsumerGroupTargetAssignmentMetadataValue), "has an epoch"
    group.assignment_epoch = value.assignment_epoch
    group.assignment_timestamp_ms = value.assignment_timestamp


def _replay_member(group: ConsumerGroup, member_id: str, record: CoordinatorRecord) -> None:
    value = record.value
    if value is None:
        group.remove_member(member_id)
        return
    assert isinstance(value, internal.ConsumerGroupMemberMetadataValue), "a member has metadata"
    group.update_member(_member(group, member_id).with_metadata(value))


def _replay_target(group: ConsumerGroup, member_id: str, record: CoordinatorRecord) -> None:
    value = record.value
    if value is None:
        group.target.pop(member_id, None)
        return
    assert isinstance(value, internal.ConsumerGroupTargetAssignmentMemberValue), "has partitions"
    group.target[member_id] = from_target_record(value.topic_partitions)


def _replay_assignment(group: ConsumerGroup, member_id: str, record: CoordinatorRecord) -> None:
    value = record.value
    if value is not None:
        assert isinstance(value, internal.ConsumerGroupCurrentMemberAssignmentValue), "has epochs"
        group.update_member(_member(group, member_id).with_assignment(value))
    elif member_id in group.members:
        group.update_member(group.member(member_id).without_assignment())


def _replay_regex(group: ConsumerGroup, regex: str, record: CoordinatorRecord) -> None:
    value = record.value
    if value is None:
        group.unresolve_regex(regex)
        return
    assert isinstance(value, internal.ConsumerGroupRegularExpressionValue), "has topics"
    resolved = ResolvedRegularExpression(frozenset(value.topics), value.version, value.timestamp)
    group.resolve_regex(regex, resolved)


def _member(group: ConsumerGroup, member_id: str) -> ConsumerGroupMember:
    return group.members.get(member_id) or ConsumerGroupMember(member_id=member_id)
