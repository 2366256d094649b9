"""JoinGroup of a restarted static member (Kafka: `updateStaticMemberThenRebalanceOrCompleteJoin`).

The client has no member id. The member keeps its place, its assignment and the leadership under a
new id; requests with the old id get FENCED_INSTANCE_ID.

    Stable, the vote is the same   no rebalance: a record with the new id, then the response
    Stable, the vote has changed   a rebalance
    CompletingRebalance            a rebalance: the leader assigns partitions to the old id
    PreparingRebalance             the member waits with the others

Below version 9 the leader gets the old id as the leader, so that it does not assign partitions to
members that do not join (KIP-345). Since version 9 it gets the members and `skip_assignment`: it
keeps its leadership, and observes the topics, without assigning (KIP-814).
"""

from typing import Final

from cordwood.coordination.groups.classic import classic_group_responses as responses
from cordwood.coordination.groups.classic.classic_group_event import ClassicGroupEvent
from cordwood.coordination.groups.classic.classic_group_member import ClassicGroupMember
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.classic.classic_rebalance import (
    complete_if_all_joined,
    prepare_rebalance,
)
from cordwood.coordination.groups.classic.group_metadata_record import assigned_value
from cordwood.coordination.groups.classic.join_attempt import JoinAttempt, add, update
from cordwood.core.errors import FencedInstanceIdError, KafkaError

_SKIP_ASSIGNMENT_SINCE: Final = 9


def join_static(event: ClassicGroupEvent, attempt: JoinAttempt) -> None:
    """Let a static member join that has no member id."""
    group = event.group
    old_id = group.static_members.get(attempt.request.group_instance_id or "")
    if old_id is None:
        add(event, attempt, member_id=attempt.new_member_id)
        return
    old, leader_id = group.members[old_id], group.leader_id or ""
    member = _replace(event, old_id, attempt.new_member_id)
    update(event, attempt, member=member)
    match group.state:
        case ClassicGroupState.PREPARING_REBALANCE:
            complete_if_all_joined(event)
        case ClassicGroupState.STABLE if group.select_protocol() == group.protocol_name:
            _keep_generation(event, attempt, old, leader_id)
        case _:
            prepare_rebalance(event)


def _replace(event: ClassicGroupEvent, old_id: str, new_id: str) -> ClassicGroupMember:
    """Give the place of a member to another id, and fence the requests of the old one."""
    event.fail_join(old_id, FencedInstanceIdError.code, response_id=old_id)
    event.fail_sync(old_id, FencedInstanceIdError.code)
    member = event.group.replace_static(old_id, new_id)
    event.stop_session(old_id)
    event.start_session(new_id)
    return member


def _keep_generation(
    event: ClassicGroupEvent, attempt: JoinAttempt, old: ClassicGroupMember, leader_id: str
) -> None:
    """Append the group with the new id, and answer; a rejected append gives the place back."""
    group, member_id = event.group, attempt.new_member_id
    del group.waiting_joins[member_id]
    value = assigned_value(group, group.assignments)
    group.unsaved = value
    event.append(value, lambda failed, error: _give_back(failed, error, attempt, old))
    if attempt.client.api_version >= _SKIP_ASSIGNMENT_SINCE:
        is_leader = member_id == group.leader_id
        response = responses.joined(group, member_id, with_members=is_leader)
        response.skip_assignment = is_leader
    else:
        response = responses.joined(group, member_id)
        response.leader = leader_id
    event.answer(attempt.ticket, response)


def _give_back(
    event: ClassicGroupEvent, error: KafkaError, attempt: JoinAttempt, old: ClassicGroupMember
) -> None:
    group = event.group
    group.unsaved = None
    member = group.replace_static(attempt.new_member_id, old.member_id)
    group.set_protocols(member, old.protocols)
    member.rebalance_timeout_ms = old.rebalance_timeout_ms
    member.session_timeout_ms = old.session_timeout_ms
    event.stop_session(attempt.new_member_id)
    event.start_session(old.member_id)
    response = responses.joined(group, "")
    response.error_code = error.code
    event.answer(attempt.ticket, response)
