"""Removal of members: they leave, their session ends, or they are removed.

Kafka: `consumerGroupLeave`, `consumerGroupFenceMembers`.
"""

from collections import Counter
from collections.abc import Sequence

from cordwood.coordination.groups.consumer.consumer_group_state import ConsumerGroupShardState
from cordwood.coordination.groups.consumer.conversion.downgrade import can_downgrade, downgrade
from cordwood.coordination.groups.consumer.group import consumer_group_records as records
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    STATIC_LEAVE_EPOCH,
    ConsumerGroupMember,
)
from cordwood.coordination.groups.consumer.member_lookup import known_member
from cordwood.coordination.outcome import Outcome
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def leave(
    state: ConsumerGroupShardState, request: ConsumerGroupHeartbeatRequest, *, now_ms: int
) -> tuple[ConsumerGroupHeartbeatResponse, Outcome]:
    """Remove the member of a heartbeat, or let a static one go for a while."""
    group = state.group(request.group_id)
    member = known_member(group, request.member_id, instance_id=request.instance_id)
    if request.member_epoch == STATIC_LEAVE_EPOCH:
        departed = records.current_assignment(group.group_id, member.departed())
        outcome = Outcome(records=[departed])
    else:
        outcome = fence_members(state, group, members=[member], now_ms=now_ms)
    response = ConsumerGroupHeartbeatResponse(
        error_code=0,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        heartbeat_interval_ms=0,
    )
    return response, outcome


def fence_members(
    state: ConsumerGroupShardState,
    group: ConsumerGroup,
    *,
    members: Sequence[ConsumerGroupMember],
    now_ms: int,
) -> Outcome:
    """Remove members in one batch, which raises the group epoch by one.

    A group whose other members all use the classic protocol becomes a classic group.
    """
    outcome = Outcome()
    if not members:
        return outcome
    for member in members:
        outcome.timers += state.timers.cancel_all(group.group_id, member.member_id)
    if can_downgrade(state, group, leaving=members):
        outcome.add(downgrade(state, group, leaving=members, now_ms=now_ms))
        return outcome
    for member in members:
        outcome.records += records.member_tombstones(group.group_id, member.member_id)
    leaving = Counter(each.topic_regex for each in members if each.topic_regex)
    outcome.records += [
        records.regular_expression_tombstone(group.group_id, regex)
        for regex, count in leaving.items()
        if group.subscriptions.regexes[regex] == count
    ]
    metadata_hash = state.metadata_hash(group.subscriptions.after(members))
    epoch = group.group_epoch + 1
    outcome.records.append(records.group_epoch(group.group_id, epoch, metadata_hash=metadata_hash))
    return outcome
