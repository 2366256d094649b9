"""SyncGroup, Heartbeat and LeaveGroup in a consumer group.

Kafka: `classicGroupSyncToConsumerGroup`, `classicGroupHeartbeatToConsumerGroup`,
`classicGroupLeaveToConsumerGroup`.

A member of the classic protocol joins again when its next step is due; its heartbeat then ends
with REBALANCE_IN_PROGRESS. A member that does not join within its rebalance timeout is fenced.
"""

from cordwood.coordination.groups.classic.classic_group_leave import left
from cordwood.coordination.groups.classic.classic_group_responses import sync_error
from cordwood.coordination.groups.consumer.consumer_group_state import ConsumerGroupShardState
from cordwood.coordination.groups.consumer.conversion.consumer_protocol import write_assignment
from cordwood.coordination.groups.consumer.group.consumer_group import PROTOCOL_TYPE, ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    ClassicProtocolMember,
    ConsumerGroupMember,
    MemberState,
)
from cordwood.coordination.groups.consumer.group.topic_partitions import without_epochs
from cordwood.coordination.groups.consumer.member_fencing import fence_members
from cordwood.coordination.groups.consumer.member_lookup import check_instance
from cordwood.coordination.groups.consumer.member_timers import session_timer
from cordwood.coordination.outcome import Answer, Outcome, Ticket, TimerChange
from cordwood.core.errors import (
    IllegalGenerationError,
    InconsistentGroupProtocolError,
    KafkaError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.leave_group import MemberIdentity, MemberResponse
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse


def sync_group(
    state: ConsumerGroupShardState,
    group: ConsumerGroup,
    *,
    request: SyncGroupRequest,
    ticket: Ticket,
    now_ms: int,
) -> Outcome:
    """Return a member's present assignment."""
    member, classic = _classic_member(group, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation_id)
    _check_protocol(member, classic, request)
    outcome = Outcome()
    is_behind = group.assignment_epoch > member.member_epoch
    if is_behind and member.state is not MemberState.UNREVOKED_PARTITIONS:
        outcome.timers += _join_timer(state, group, member, now_ms=now_ms)
        answer = Answer(ticket, sync_error(RebalanceInProgressError.code))
        outcome.answers.append(answer)
        return outcome
    session_at_ms = now_ms + classic.session_timeout_ms
    outcome.timers += [
        state.timers.cancel_sync(group.group_id, member.member_id),
        session_timer(group.group_id, member.member_id, at_ms=session_at_ms),
    ]
    response = SyncGroupResponse(
        error_code=0,
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=write_assignment(
            without_epochs(member.assigned), state.view, subscription=classic.protocols[0][1]
        ),
    )
    outcome.answers.append(Answer(ticket, response))
    return outcome


def classic_heartbeat(
    state: ConsumerGroupShardState,
    group: ConsumerGroup,
    *,
    request: HeartbeatRequest,
    ticket: Ticket,
    now_ms: int,
) -> Outcome:
    """Begin a member's session again, and let it join if its next step is due."""
    member, classic = _classic_member(group, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation_id)
    outcome = Outcome()
    at_ms = now_ms + classic.session_timeout_ms
    outcome.timers.append(session_timer(group.group_id, member.member_id, at_ms=at_ms))
    code = 0
    if _has_next_step(group, member):
        code = RebalanceInProgressError.code
        outcome.timers += _join_timer(state, group, member, now_ms=now_ms)
    outcome.answers.append(Answer(ticket, HeartbeatResponse(error_code=code)))
    return outcome


def leave_group(
    state: ConsumerGroupShardState,
    group: ConsumerGroup,
    *,
    members: list[MemberIdentity],
    version: int,
    ticket: Ticket,
    now_ms: int,
) -> Outcome:
    """Remove members of both protocols; the group epoch rises once."""
    results, leaving = list[MemberResponse](), dict[str, ConsumerGroupMember]()
    for each in members:
        code = 0
        try:
            member = _leaving_member(group, each)
            leaving[member.member_id] = member
        except KafkaError as error:
            code = error.code
        results.append(
            MemberResponse(
                member_id=each.member_id,
                group_instance_id=each.group_instance_id,
                error_code=code,
            )
        )
    outcome = fence_members(state, group, members=list(leaving.values()), now_ms=now_ms)
    outcome.answers.append(Answer(ticket, left(results, version=version)))
    return outcome


def _leaving_member(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerGroupMember:
    if identity.group_instance_id is None:
        return group.member(identity.member_id)
    member = group.static_member(identity.group_instance_id)
    if member is None:
        raise UnknownMemberIdError(f"Instance id {identity.group_instance_id} is unknown.")
    if identity.member_id:
        check_instance(member, identity.member_id)
    return member


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> tuple[ConsumerGroupMember, ClassicProtocolMember]:
    if instance_id is None:
        member = group.member(member_id)
    else:
        static = group.static_member(instance_id)
        if static is None:
            raise UnknownMemberIdError(
                f"Member with instance id {instance_id} is not a member of group {group.group_id}."
            )
        check_instance(static, member_id)
        member = static
    if member.classic is None:
        raise UnknownMemberIdError(f"Member {member_id} does not use the classic protocol.")
    return member, member.classic


def _check_generation(member: ConsumerGroupMember, generation: int) -> None:
    if generation != member.member_epoch:
        raise IllegalGenerationError(
            f"The request generation id {generation} is not equal to the member epoch "
            f"{member.member_epoch} of member {member.member_id}."
        )


def _check_protocol(
    member: ConsumerGroupMember, classic: ClassicProtocolMember, request: SyncGroupRequest
) -> None:
    name = classic.protocols[0][0]
    if request.protocol_type not in (None, PROTOCOL_TYPE):
        raise InconsistentGroupProtocolError(
            f"The protocol type {request.protocol_type} from member {member.member_id} request is "
            f"not equal to the group protocol type {PROTOCOL_TYPE}."
        )
    if request.protocol_name not in (None, name):
        raise InconsistentGroupProtocolError(
            f"The protocol name {request.protocol_name} from member {member.member_id} request is "
            f"not equal to the protocol name {name} returned in the join response."
        )


def _has_next_step(group: ConsumerGroup, member: ConsumerGroupMember) -> bool:
    if member.member_epoch < group.assignment_epoch:
        return True
    if member.state is MemberState.UNRELEASED_PARTITIONS:
        return not group.waits_for_others(member)
    return member.state is MemberState.UNREVOKED_PARTITIONS


def _join_timer(
    state: ConsumerGroupShardState,
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    *,
    now_ms: int,
) -> list[TimerChange]:
    at_ms = now_ms + member.rebalance_timeout_ms
    return state.timers.join_if_absent(group.group_id, member.member_id, at_ms=at_ms)
