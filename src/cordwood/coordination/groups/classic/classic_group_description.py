"""Description of a classic group for DescribeGroups (Kafka: `GroupMetadataManager.describeGroups`).

Metadata and the protocol are shown while the group is stable. In a rebalance the assignments of the
generation before are shown, until they are reset. A group that does not exist is Dead: without an
error up to version 5, with GROUP_ID_NOT_FOUND since version 6.
"""

from typing import Final

from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.core.errors import GroupIdNotFoundError
from cordwood.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember

_NOT_FOUND_SINCE: Final = 6


def described(group: ClassicGroup) -> DescribedGroup:
    """Return the description of a group."""
    protocol = group.protocol_name if group.state is ClassicGroupState.STABLE else None
    return DescribedGroup(
        error_code=0,
        group_id=group.group_id,
        group_state=group.state_name,
        protocol_type=group.protocol_type,
        protocol_data=protocol or "",
        members=[
            DescribedGroupMember(
                member_id=each.member_id,
                group_instance_id=each.instance_id,
                client_id=each.client_id,
                client_host=each.client_host,
                member_metadata=b"" if protocol is None else each.metadata(protocol),
                member_assignment=each.assignment,
            )
            for each in group.members.values()
        ],
    )


def not_described(group_id: str, problem: str, *, version: int) -> DescribedGroup:
    """Return the description of a group that does not exist, or has another kind."""
    is_error = version >= _NOT_FOUND_SINCE
    return DescribedGroup(
        error_code=GroupIdNotFoundError.code if is_error else 0,
        error_message=problem if is_error else None,
        group_id=group_id,
        group_state=ClassicGroupState.DEAD.value,
        protocol_type="",
        protocol_data="",
        members=[],
    )
