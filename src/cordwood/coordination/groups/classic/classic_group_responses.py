"""Responses of a classic group, with the defaults of Kafka in their errors."""

from typing import Final

from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from cordwood.protocol.messages.sync_group import SyncGroupResponse

_PROTOCOL_IS_NULLABLE_SINCE: Final = 7


def join_error(code: int, member_id: str = "", *, version: int) -> JoinGroupResponse:
    """Return the error of a JoinGroup request; before version 7 no protocol is an empty one."""
    return JoinGroupResponse(
        error_code=code,
        protocol_name=None if version >= _PROTOCOL_IS_NULLABLE_SINCE else "",
        leader="",
        member_id=member_id,
        members=[],
    )


def joined(group: ClassicGroup, member_id: str, *, with_members: bool = False) -> JoinGroupResponse:
    """Return the present generation; its leader gets the members."""
    return JoinGroupResponse(
        error_code=0,
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name or "",
        leader=group.leader_id or "",
        member_id=member_id,
        members=_members(group) if with_members else [],
    )


def _members(group: ClassicGroup) -> list[JoinGroupResponseMember]:
    return [
        JoinGroupResponseMember(
            member_id=each.member_id,
            group_instance_id=each.instance_id,
            metadata=each.metadata(group.protocol_name),
        )
        for each in group.members.values()
    ]


def sync_error(code: int) -> SyncGroupResponse:
    """Return the error of a SyncGroup request."""
    return SyncGroupResponse(error_code=code, assignment=b"")


def synced(group: ClassicGroup, assignment: bytes) -> SyncGroupResponse:
    """Return a member's assignment."""
    return SyncGroupResponse(
        error_code=0,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=assignment,
    )
