"""JoinGroup in a consumer group (Kafka: `classicGroupJoinToConsumerGroup`).

The coordinator assigns the partitions also of members with the classic protocol. Their generation
is their member epoch, none of them is the leader, and the partitions in the subscription are
those that a heartbeat would report. An eager member has none when it joins.
"""

from dataclasses import replace
from typing import Final

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.groups.classic.classic_group_responses import join_error
from cordwood.coordination.groups.consumer.consumer_group_state import ConsumerGroupShardState
from cordwood.coordination.groups.consumer.conversion.consumer_protocol import (
    partitions_by_id,
    read_subscription,
)
from cordwood.coordination.groups.consumer.conversion.downgrade import can_downgrade, downgrade_for
from cordwood.coordination.groups.consumer.group.consumer_group import PROTOCOL_TYPE, ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    ClassicProtocolMember,
    ConsumerGroupMember,
    distinct_names,
)
from cordwood.coordination.groups.consumer.member_lookup import (
    check_instance,
    check_size,
    joined_dynamic_member,
    joined_static_member,
    replace_member,
)
from cordwood.coordination.groups.consumer.member_timers import session_timer
from cordwood.coordination.groups.consumer.member_update import (
    JoinedMember,
    MemberUpdate,
    Target,
)
from cordwood.coordination.outcome import Answer, Outcome, Ticket
from cordwood.core.errors import (
    BytesError,
    InconsistentGroupProtocolError,
    MemberIdRequiredError,
    UnknownMemberIdError,
    UnknownServerError,
)
from cordwood.protocol.messages.internal import ConsumerProtocolSubscription
from cordwood.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse

_KNOWN_ID_SINCE: Final = 4


def join_group(
    state: ConsumerGroupShardState,
    group: ConsumerGroup,
    *,
    request: JoinGroupRequest,
    client: ClientContext,
    ticket: Ticket,
    now_ms: int,
) -> Outcome:
    """Let a member of the classic protocol join; its errors are raised, and change nothing."""
    member_id = request.member_id or state.new_member_id()
    check_size(group, member_id, max_size=state.settings.consumer_max_size)
    names = [each.name for each in request.protocols]
    if not group.supports_classic_protocols(request.protocol_type, names):
        raise InconsistentGroupProtocolError(f"Member {member_id}'s protocols are not supported.")
    is_dynamic = request.group_instance_id is None
    if is_dynamic and not request.member_id and client.api_version >= _KNOWN_ID_SINCE:
        error = join_error(MemberIdRequiredError.code, member_id, version=client.api_version)
        return Outcome.answer(ticket, error)
    outcome = Outcome()
    joined = _joined(group, request, member_id)
    replace_member(state, group, joined=joined, outcome=outcome)
    subscription = _subscription(request)
    update = MemberUpdate(
        state=state,
        group=group,
        joined=joined,
        after=_updated(joined.base, request, subscription, client=client),
        outcome=outcome,
        now_ms=now_ms,
    )
    member = _advance(update, client, subscription, is_static=not is_dynamic)
    outcome.timers.append(state.timers.cancel_join(group.group_id, member_id))
    if isinstance(state.registry.by_id.get(group.group_id), ConsumerGroup):
        session_ms, sync_ms = request.session_timeout_ms, _rebalance_timeout_ms(request)
        outcome.timers += [
            session_timer(group.group_id, member_id, at_ms=now_ms + session_ms),
            state.timers.sync(group.group_id, member_id, at_ms=now_ms + sync_ms),
        ]
    response = JoinGroupResponse(
        error_code=0,
        generation_id=member.member_epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=names[0],
        leader="",
        member_id=member_id,
        members=[],
    )
    outcome.answers.append(Answer(ticket, response))
    return outcome


def _advance(
    update: MemberUpdate,
    client: ClientContext,
    subscription: ConsumerProtocolSubscription,
    *,
    is_static: bool,
) -> ConsumerGroupMember:
    """Reconcile the member, or convert the group if its last consumer member was replaced."""
    state, group, replaced = update.state, update.group, update.joined.in_group
    owned = partitions_by_id(subscription.owned_partitions, state.view)
    is_downgrade = (
        is_static
        and replaced is not None
        and replaced.classic is None
        and can_downgrade(state, group, leaving=[replaced], joining=1)
    )
    change = update.record_member(client)
    epoch = update.next_epoch(raises_epoch=change.raises_epoch)
    if replaced is None or not is_downgrade:
        target = update.next_target(epoch)
        return update.reconcile(target, owned=owned, has_subscription_changed=change.has_changed)
    member = update.after
    is_outdated = group.assignment_epoch < epoch
    if not is_outdated:
        target = Target(group.assignment_epoch, group.target_of(member))
        member = update.reconcile(target, owned=owned, has_subscription_changed=change.has_changed)
    converted = downgrade_for(
        state,
        group,
        replaced=replaced,
        joining=member,
        with_rebalance=is_outdated,
        now_ms=update.now_ms,
    )
    update.outcome.add(converted)
    return member


def _joined(group: ConsumerGroup, request: JoinGroupRequest, member_id: str) -> JoinedMember:
    instance_id = request.group_instance_id
    if instance_id is None:
        return joined_dynamic_member(group, member_id)
    if not request.member_id:
        return joined_static_member(group, member_id, instance_id=instance_id, is_classic=True)
    member = group.static_member(instance_id)
    if member is None:
        raise UnknownMemberIdError(f"Instance id {instance_id} is unknown.")
    check_instance(member, member_id)
    return JoinedMember(member, member)


def _subscription(request: JoinGroupRequest) -> ConsumerProtocolSubscription:
    try:
        return read_subscription(bytes(request.protocols[0].metadata))
    except BytesError as error:
        raise UnknownServerError(
            "Malformed embedded consumer protocol in subscription deserialization."
        ) from error


def _updated(
    member: ConsumerGroupMember,
    request: JoinGroupRequest,
    subscription: ConsumerProtocolSubscription,
    *,
    client: ClientContext,
) -> ConsumerGroupMember:
    """Return the member with the fields of a request; regular expressions stay with the client."""
    protocols = tuple((each.name, bytes(each.metadata)) for each in request.protocols)
    return replace(
        member,
        instance_id=request.group_instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=_rebalance_timeout_ms(request),
        topic_names=distinct_names(subscription.topics),
        topic_regex="",
        client_id=client.client_id,
        client_host=client.host,
        classic=ClassicProtocolMember(request.session_timeout_ms, protocols),
    )


def _rebalance_timeout_ms(request: JoinGroupRequest) -> int:
    """Return the timeout of a request; version 0 has the session timeout in its place."""
    timeout_ms = request.rebalance_timeout_ms
    return request.session_timeout_ms if timeout_ms == -1 else timeout_ms
