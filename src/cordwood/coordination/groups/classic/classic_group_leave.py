"""LeaveGroup in a classic group (Kafka: `classicGroupLeaveToClassicGroup`).

    member id  instance id  the member
    empty      given        any client of the static member: an administrator removes it
    given      null         a member, or a pending one
    given      given        the static member, if it has that id; else 82

The members of one request leave together, with one rebalance. Kafka counts a pending member among
them, so that its leave rebalances a stable group too. Before version 3 a request has one
member, whose error is that of the response.
"""

from typing import Final

from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_event import ClassicGroupEvent
from cordwood.coordination.groups.classic.classic_rebalance import rebalance_or_complete
from cordwood.core.errors import KafkaError, UnknownMemberIdError
from cordwood.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

_MEMBERS_SINCE: Final = 3


def leaving_members(request: LeaveGroupRequest, *, version: int) -> list[MemberIdentity]:
    """Return the members of a request of any version."""
    if version >= _MEMBERS_SINCE:
        return request.members
    return [MemberIdentity(member_id=request.member_id)]


def leave(event: ClassicGroupEvent, members: list[MemberIdentity]) -> list[MemberResponse]:
    """Remove members, and return their results."""
    results = [_leave_one(event, each) for each in members]
    has_left = any(not each.error_code for each in results)
    if has_left and not event.group.is_empty:
        rebalance_or_complete(event)
    return results


def unknown_members(members: list[MemberIdentity]) -> list[MemberResponse]:
    """Return the results of a group that does not exist."""
    return [_result(each, UnknownMemberIdError.code) for each in members]


def left(results: list[MemberResponse], *, version: int) -> LeaveGroupResponse:
    """Return the response of a version."""
    if version >= _MEMBERS_SINCE:
        return LeaveGroupResponse(error_code=0, members=results)
    return LeaveGroupResponse(error_code=results[0].error_code)


def _leave_one(event: ClassicGroupEvent, member: MemberIdentity) -> MemberResponse:
    try:
        member_id = _leaving_id(event.group, member)
    except KafkaError as error:
        return _result(member, error.code)
    event.remove_member(member_id)
    return _result(member, 0)


def _leaving_id(group: ClassicGroup, member: MemberIdentity) -> str:
    if not member.member_id:
        member_id = group.static_members.get(member.group_instance_id or "")
        if member_id is None:
            raise UnknownMemberIdError(f"No instance {member.group_instance_id}.")
        return member_id
    if member.member_id not in group.pending_joins:
        group.validate_member(member.member_id, member.group_instance_id)
    return member.member_id


def _result(member: MemberIdentity, code: int) -> MemberResponse:
    return MemberResponse(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        error_code=code,
    )
