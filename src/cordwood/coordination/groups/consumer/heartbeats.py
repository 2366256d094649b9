"""ConsumerGroupHeartbeat: joins, keeps and reconciles a member (Kafka: `consumerGroupHeartbeat`).

    1  the group is found, created, or converted from a classic group
    2  the member is found, created, or takes the place of a static one
    3  the steps of `member_update` follow, and the session begins again

The response has an assignment if the request was a full one, or if the assignment has changed.
"""

from dataclasses import replace

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.consumer.consumer_group_state import ConsumerGroupShardState
from cordwood.coordination.groups.consumer.conversion.upgrade import retire_upgraded, upgraded
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerGroupMember,
    distinct_names,
)
from cordwood.coordination.groups.consumer.group.topic_partitions import (
    OwnedByClient,
    ReportedPartitions,
    to_response,
)
from cordwood.coordination.groups.consumer.heartbeat_validation import validate_heartbeat
from cordwood.coordination.groups.consumer.member_fencing import leave
from cordwood.coordination.groups.consumer.member_lookup import (
    check_epoch,
    check_size,
    joined_dynamic_member,
    joined_static_member,
    known_member,
    replace_member,
)
from cordwood.coordination.groups.consumer.member_timers import session_timer
from cordwood.coordination.groups.consumer.member_update import JoinedMember, MemberUpdate
from cordwood.coordination.outcome import Answer, Outcome, Ticket
from cordwood.core.errors import GroupIdNotFoundError
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

_UNCHANGED = -1


def heartbeat(
    state: ConsumerGroupShardState,
    request: ConsumerGroupHeartbeatRequest,
    *,
    client: ClientContext,
    ticket: Ticket,
    now_ms: int,
) -> Outcome:
    """Process a heartbeat; its errors are raised, and change nothing."""
    assignors = state.settings.consumer_assignors
    validate_heartbeat(request, client.api_version, assignors=assignors)
    if request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
        response, outcome = leave(state, request, now_ms=now_ms)
    else:
        outcome = Outcome()
        response = _stay(state, request, client, outcome=outcome, now_ms=now_ms)
    outcome.answers.append(Answer(ticket, response))
    return outcome


def _stay(
    state: ConsumerGroupShardState,
    request: ConsumerGroupHeartbeatRequest,
    client: ClientContext,
    *,
    outcome: Outcome,
    now_ms: int,
) -> ConsumerGroupHeartbeatResponse:
    group = _group(state, request, outcome=outcome, now_ms=now_ms)
    check_size(group, request.member_id, max_size=state.settings.consumer_max_size)
    topics = request.topic_partitions
    owned = None if topics is None else ReportedPartitions(topics)
    joined = _joined(group, request, request.member_id or state.new_member_id(), owned=owned)
    replace_member(state, group, joined=joined, outcome=outcome)
    update = MemberUpdate(
        state=state,
        group=group,
        joined=joined,
        after=_updated(joined.base, request, client),
        outcome=outcome,
        now_ms=now_ms,
    )
    change = update.record_member(client)
    target = update.next_target(update.next_epoch(raises_epoch=change.raises_epoch))
    member = update.reconcile(target, owned=owned, has_subscription_changed=change.has_changed)
    timeout_ms = state.configs.session_timeout_ms(group.group_id)
    at_ms = now_ms + timeout_ms
    outcome.timers.append(session_timer(group.group_id, member.member_id, at_ms=at_ms))
    classic = state.registry.by_id.get(group.group_id)
    if isinstance(classic, ClassicGroup) and not classic.is_empty:
        retire_upgraded(state, classic, outcome=outcome, now_ms=now_ms)
    has_assignment = _is_full(request) or member.assigned != joined.base.assigned
    return ConsumerGroupHeartbeatResponse(
        error_code=0,
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        heartbeat_interval_ms=state.configs.heartbeat_interval_ms(group.group_id),
        assignment=to_response(member.assigned) if has_assignment else None,
    )


def _group(
    state: ConsumerGroupShardState,
    request: ConsumerGroupHeartbeatRequest,
    *,
    outcome: Outcome,
    now_ms: int,
) -> ConsumerGroup:
    """Return the group of a request; one that is new is not in the registry yet."""
    group_id = request.group_id
    group = state.registry.by_id.get(group_id)
    if isinstance(group, ConsumerGroup):
        return group
    if group is None and request.member_epoch == 0:
        return ConsumerGroup(group_id)
    if group is None:
        raise GroupIdNotFoundError(f"Consumer group {group_id} not found.")
    if not isinstance(group, ClassicGroup) or request.member_epoch != 0:
        raise GroupIdNotFoundError(f"Group {group_id} is not a consumer group.")
    if group.is_empty:
        outcome.records += group.tombstones()
        return ConsumerGroup(group_id)
    return upgraded(state, group, outcome=outcome, now_ms=now_ms)


def _joined(
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    member_id: str,
    *,
    owned: OwnedByClient | None,
) -> JoinedMember:
    """Return the member of a request, after the checks of its ids and its epoch."""
    epoch, instance_id = request.member_epoch, request.instance_id
    if epoch != 0:
        member = known_member(group, member_id, instance_id=instance_id)
        check_epoch(member, epoch, owned=owned)
        return JoinedMember(member, member)
    if instance_id is None:
        return joined_dynamic_member(group, member_id)
    return joined_static_member(group, member_id, instance_id=instance_id, is_classic=False)


def _updated(
    member: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest, client: ClientContext
) -> ConsumerGroupMember:
    """Return the member with those fields that a request has."""
    if _is_plain(member, request, client):
        return member
    names, timeout_ms = request.subscribed_topic_names, request.rebalance_timeout_ms
    regex = request.subscribed_topic_regex
    return replace(
        member,
        instance_id=request.instance_id or member.instance_id,
        rack_id=request.rack_id or member.rack_id,
        rebalance_timeout_ms=(
            member.rebalance_timeout_ms if timeout_ms == _UNCHANGED else timeout_ms
        ),
        server_assignor=request.server_assignor or member.server_assignor,
        topic_names=member.topic_names if names is None else distinct_names(names),
        topic_regex=member.topic_regex if regex is None else regex,
        client_id=client.client_id,
        client_host=client.host,
        classic=None,
    )


def _is_plain(
    member: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest, client: ClientContext
) -> bool:
    """Return whether a request has no field that can change its member, as most have none."""
    fields = (
        request.subscribed_topic_names,
        request.subscribed_topic_regex,
        request.server_assignor,
        request.rack_id,
    )
    return (
        request.rebalance_timeout_ms == _UNCHANGED
        and fields == (None, None, None, None)
        and request.instance_id in (None, member.instance_id)
        and (client.client_id, client.host) == (member.client_id, member.client_host)
        and member.classic is None
    )


def _is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Return whether a request has all fields, as after a join or an error."""
    has_subscription = (
        request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    )
    return request.member_epoch == 0 or (
        request.rebalance_timeout_ms != _UNCHANGED
        and has_subscription
        and request.topic_partitions is not None
    )
