"""Records of classic groups (Kafka: `GroupCoordinatorRecordHelpers`, record type 2).

    written when                                            members    leader, protocol
    a join creates the group                                none       null, generation 0
    the last member has gone                                none       null, the next generation
    the leader has assigned the partitions                  all        of the generation
    a restarted static member gets a new id                 all        of the generation
    the group is deleted, or becomes a consumer group       tombstone

The timestamp is that of the state in which the record is made: for assignments, the begin of
CompletingRebalance.
"""

from collections.abc import Mapping
from typing import Final

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.classic.classic_group import GROUP_METADATA_TYPE, ClassicGroup
from cordwood.coordination.groups.classic.classic_group_member import (
    ClassicGroupMember,
    MemberProtocol,
)
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.protocol.messages.internal import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)

_VERSION: Final = 3


def metadata_record(group_id: str, value: GroupMetadataValue) -> CoordinatorRecord:
    """Return the record of a group."""
    return CoordinatorRecord(GROUP_METADATA_TYPE, GroupMetadataKey(group=group_id), value, _VERSION)


def created_value(group: ClassicGroup) -> GroupMetadataValue:
    """Return the value of a group that a join has created, without the member that joins."""
    return GroupMetadataValue(
        protocol_type="",
        generation=0,
        protocol=None,
        leader=None,
        current_state_timestamp=group.state_timestamp_ms,
        members=[],
    )


def emptied_value(group: ClassicGroup, now_ms: int) -> GroupMetadataValue:
    """Return the value of the next generation of a group without members."""
    return GroupMetadataValue(
        protocol_type=group.protocol_type,
        generation=group.generation + 1,
        protocol=None,
        leader=None,
        current_state_timestamp=now_ms,
        members=[],
    )


def assigned_value(group: ClassicGroup, assignments: Mapping[str, bytes]) -> GroupMetadataValue:
    """Return the value of a generation; a member without an assignment gets an empty one."""
    return GroupMetadataValue(
        protocol_type=group.protocol_type,
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.leader_id,
        current_state_timestamp=group.state_timestamp_ms,
        members=[
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(group.protocol_name),
                assignment=assignments.get(member.member_id, b""),
            )
            for member in group.members.values()
        ],
    )


def apply_value(group: ClassicGroup, value: GroupMetadataValue) -> None:
    """Bring a group into the state of a record.

    A member that the group has already keeps its protocols, of which the record has one.
    """
    known, group.members = group.members, {}
    group.static_members = {}
    group.support.clear()
    group.protocol_type = value.protocol_type
    group.protocol_name = value.protocol
    group.generation = value.generation
    for each in value.members:
        group.add(_stored_member(each, value.protocol or "", known.get(each.member_id)))
    group.leader_id = value.leader
    group.pending_syncs -= known.keys() - group.members.keys()
    state = ClassicGroupState.STABLE if group.members else ClassicGroupState.EMPTY
    if state is not group.state:
        group.previous_state, group.state = group.state, state
    group.state_timestamp_ms = value.current_state_timestamp
    group.refresh_topics()


def _stored_member(
    stored: MemberMetadata, protocol: str, known: ClassicGroupMember | None
) -> ClassicGroupMember:
    """Return the member of a record, with all protocols of the known one if it is the same."""
    only = MemberProtocol(protocol, bytes(stored.subscription))
    rebalance_timeout_ms = stored.rebalance_timeout
    return ClassicGroupMember(
        member_id=stored.member_id,
        instance_id=stored.group_instance_id,
        client_id=stored.client_id,
        client_host=stored.client_host,
        rebalance_timeout_ms=(
            stored.session_timeout if rebalance_timeout_ms == -1 else rebalance_timeout_ms
        ),
        session_timeout_ms=stored.session_timeout,
        protocols=known.protocols if known is not None and only in known.protocols else (only,),
        assignment=bytes(stored.assignment),
    )
