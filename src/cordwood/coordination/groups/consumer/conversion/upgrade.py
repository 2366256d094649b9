"""Conversion of a classic group into a consumer group (Kafka: `convertToConsumerGroup`).

The first heartbeat of a member with the consumer protocol converts the group. The other members go
on with the classic protocol: generation, assignments and sessions become epochs, targets and
session timers. Their requests that wait end with REBALANCE_IN_PROGRESS.
"""

from typing import Final

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_event import JOIN_TIMER, SYNC_TIMER
from cordwood.coordination.groups.classic.classic_group_member import ClassicGroupMember
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.consumer.assignors.group_spec import (
    NO_PARTITIONS,
    TopicPartitionSets,
)
from cordwood.coordination.groups.consumer.consumer_group_state import ConsumerGroupShardState
from cordwood.coordination.groups.consumer.conversion.consumer_protocol import (
    partitions_by_id,
    read_assignment,
    read_subscription,
)
from cordwood.coordination.groups.consumer.group import consumer_group_records as records
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    ClassicProtocolMember,
    ConsumerGroupMember,
    distinct_names,
)
from cordwood.coordination.groups.consumer.group.topic_partitions import with_epoch
from cordwood.coordination.groups.consumer.member_timers import session_timer
from cordwood.coordination.outcome import Outcome, TimerChange
from cordwood.core.errors import BytesError, GroupIdNotFoundError, RebalanceInProgressError

_POLICIES: Final = frozenset({"bidirectional", "upgrade"})


def upgraded(
    state: ConsumerGroupShardState, classic: ClassicGroup, *, outcome: Outcome, now_ms: int
) -> ConsumerGroup:
    """Return the consumer group of a classic group, and append its records.

    Raises GROUP_ID_NOT_FOUND if the group has to stay as it is.
    """
    _check(state, classic)
    group = _converted(state, classic)
    outcome.records += [*classic.tombstones(), *_group_records(group)]
    for member in group.members.values():
        assert member.classic is not None, f"{member.member_id} is not a classic member"
        at_ms = now_ms + member.classic.session_timeout_ms
        outcome.timers.append(session_timer(group.group_id, member.member_id, at_ms=at_ms))
    return group


def retire_upgraded(
    state: ConsumerGroupShardState, classic: ClassicGroup, *, outcome: Outcome, now_ms: int
) -> None:
    """End the requests of the classic group; nothing can reject the heartbeat after this."""
    before = classic.state
    outcome.add(state.classic.retire(classic, RebalanceInProgressError(), now_ms=now_ms))
    outcome.on_failure = lambda _, at_ms: _restored(state, classic, before, at_ms)


def _check(state: ConsumerGroupShardState, classic: ClassicGroup) -> None:
    if state.settings.consumer_migration_policy.lower() not in _POLICIES:
        raise _refusal(classic, "online upgrade is disabled")
    if not classic.uses_consumer_protocol:
        raise _refusal(classic, "the group does not use the consumer embedded protocol")
    if len(classic.members) > state.settings.consumer_max_size:
        raise _refusal(classic, "the group size exceeds the consumer group maximum size")


def _refusal(classic: ClassicGroup, reason: str) -> GroupIdNotFoundError:
    return GroupIdNotFoundError(
        f"Cannot upgrade classic group {classic.group_id} to consumer group because {reason}."
    )


def _converted(state: ConsumerGroupShardState, classic: ClassicGroup) -> ConsumerGroup:
    group = ConsumerGroup(classic.group_id)
    group.group_epoch = classic.generation
    group.assignment_epoch = classic.generation
    protocol = classic.protocol_name or classic.select_protocol()
    try:
        for member in classic.members.values():
            partitions = _assigned(state, classic, member)
            group.target[member.member_id] = partitions
            group.update_member(_member(classic, member, protocol, partitions=partitions))
    except BytesError as error:
        raise _refusal(classic, "the embedded consumer protocol is malformed") from error
    group.metadata_hash = state.metadata_hash(group.subscriptions)
    return group


def _assigned(
    state: ConsumerGroupShardState, classic: ClassicGroup, member: ClassicGroupMember
) -> TopicPartitionSets:
    if not member.assignment:
        return NO_PARTITIONS
    assignment = read_assignment(member.assignment)
    if assignment.user_data:
        raise GroupIdNotFoundError(
            f"Cannot upgrade classic group {classic.group_id} to consumer group because an "
            "unsupported custom assignor is in use. Please refer to the documentation or switch to "
            "a default assignor before re-attempting the upgrade."
        )
    return partitions_by_id(assignment.assigned_partitions, state.view)


def _member(
    classic: ClassicGroup,
    member: ClassicGroupMember,
    protocol: str,
    *,
    partitions: TopicPartitionSets,
) -> ConsumerGroupMember:
    subscription = read_subscription(member.metadata(protocol))
    return ConsumerGroupMember(
        member_id=member.member_id,
        member_epoch=classic.generation,
        previous_member_epoch=classic.generation,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=distinct_names(subscription.topics),
        classic=ClassicProtocolMember(
            member.session_timeout_ms,
            tuple((each.name, each.metadata) for each in member.protocols),
        ),
        assigned=with_epoch(partitions, classic.generation),
    )


def _group_records(group: ConsumerGroup) -> list[CoordinatorRecord]:
    members = list(group.members.values())
    group_id = group.group_id
    return [
        *(records.member_metadata(group_id, each) for each in members),
        records.group_epoch(group_id, group.group_epoch, metadata_hash=group.metadata_hash),
        *(
            records.target_member(group_id, each.member_id, partitions=group.target[each.member_id])
            for each in members
        ),
        records.target_metadata(group_id, group.assignment_epoch, timestamp_ms=0),
        *(records.current_assignment(group_id, each) for each in members),
    ]


def _restored(
    state: ConsumerGroupShardState, classic: ClassicGroup, before: ClassicGroupState, now_ms: int
) -> Outcome:
    """Let the classic group go on, because the append was rejected; its requests have ended."""
    classic.state = before
    outcome = state.classic.start_sessions(classic, now_ms=now_ms)
    at_ms = now_ms + classic.rebalance_timeout_ms
    if before is ClassicGroupState.PREPARING_REBALANCE:
        outcome.timers.append(TimerChange((JOIN_TIMER, classic.group_id), at_ms))
    elif before is ClassicGroupState.COMPLETING_REBALANCE:
        outcome.timers.append(TimerChange((SYNC_TIMER, classic.group_id), at_ms))
    return outcome
