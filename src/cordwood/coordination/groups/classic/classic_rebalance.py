"""Rebalance of a classic group, from its begin to the next generation.

    prepare       PreparingRebalance: members are asked to join again by their next heartbeat
    complete      all have joined, or the rebalance timeout is over: the next generation begins,
                  without the dynamic members that have not joined; a static member stays until
                  its session ends
    initial delay an empty group waits for `group.initial.rebalance.delay.ms` before its first
                  generation, and again after each member that joins in that time, but not longer
                  than the rebalance timeout
    sync timer    members of the generation that have not sent SyncGroup by then are removed

Five causes lead to a rebalance. A classic group sees them in this form:

    a member joins          a JoinGroup request without a member id, or with one from an error 79
    a member leaves         a LeaveGroup request
    a member dies           its session timeout ends
    partitions are added    the leader joins again: only clients know the topics of a classic group;
                            the same for a topic that begins to match a pattern
    the coordinator moves   members of an unfinished generation are unknown, and join again

Kafka: `GroupMetadataManager.prepareRebalance`, `completeClassicGroupJoin`, `expirePendingSync`.
"""

from cordwood.coordination.groups.classic import classic_group_responses as responses
from cordwood.coordination.groups.classic.classic_group_event import ClassicGroupEvent
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.classic.group_metadata_record import apply_value, emptied_value
from cordwood.core.errors import RebalanceInProgressError
from cordwood.protocol.messages.internal import GroupMetadataValue


def prepare_rebalance(event: ClassicGroupEvent) -> None:
    """Begin a rebalance; in CompletingRebalance the syncs that wait end with an error."""
    group = event.group
    if group.state is ClassicGroupState.COMPLETING_REBALANCE:
        reset_assignments(event, RebalanceInProgressError.code)
    group.pending_syncs.clear()
    event.set_sync_timer(None)
    group.is_initial_rebalance = group.is_empty
    group.transition(ClassicGroupState.PREPARING_REBALANCE, event.now_ms)
    if group.is_initial_rebalance:
        delay_ms = event.settings.initial_rebalance_delay_ms
        group.initial_delay_ms = delay_ms
        group.initial_remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        event.set_join_timer(delay_ms)
    elif group.has_all_joined:
        complete_join(event)
    else:
        event.set_join_timer(group.rebalance_timeout_ms)


def rebalance_or_complete(event: ClassicGroupEvent) -> None:
    """Begin a rebalance, or complete the present one if nothing else is missing."""
    if event.group.can_rebalance:
        prepare_rebalance(event)
    else:
        complete_if_all_joined(event)


def complete_if_all_joined(event: ClassicGroupEvent) -> None:
    """Complete a rebalance that waits for no other member; an initial one waits for its delay."""
    group = event.group
    is_preparing = group.state is ClassicGroupState.PREPARING_REBALANCE
    if is_preparing and not group.is_initial_rebalance and group.has_all_joined:
        complete_join(event)


def end_join_time(event: ClassicGroupEvent) -> None:
    """Extend the initial delay if a member has joined during it, else complete the rebalance."""
    group = event.group
    if group.state is not ClassicGroupState.PREPARING_REBALANCE:
        return
    is_extended = group.has_new_member and group.initial_remaining_ms != 0
    if not group.is_initial_rebalance or not is_extended:
        complete_join(event)
        return
    group.has_new_member = False
    passed_ms = group.initial_delay_ms
    group.initial_delay_ms = min(
        event.settings.initial_rebalance_delay_ms, group.initial_remaining_ms
    )
    group.initial_remaining_ms = max(group.initial_remaining_ms - passed_ms, 0)
    event.set_join_timer(group.initial_delay_ms)


def complete_join(event: ClassicGroupEvent) -> None:
    """End the time for joins: begin the next generation with the members that have joined."""
    group = event.group
    event.set_join_timer(None)
    for member in tuple(group.members.values()):
        if not member.is_static and member.member_id not in group.waiting_joins:
            event.remove_member(member.member_id)
    if not group.members:
        _become_empty(event)
    elif group.elect_joined_leader():
        _begin_generation(event)
    else:
        # Static members alone are left, and none of them has joined: their sessions decide.
        event.set_join_timer(group.rebalance_timeout_ms)


def end_sync_time(event: ClassicGroupEvent) -> None:
    """Remove the members that have not sent SyncGroup, and rebalance the others."""
    group = event.group
    has_generation = group.state in {
        ClassicGroupState.COMPLETING_REBALANCE,
        ClassicGroupState.STABLE,
    }
    if has_generation and group.pending_syncs:
        for member_id in tuple(group.pending_syncs):
            event.remove_member(member_id)
        prepare_rebalance(event)


def end_session(event: ClassicGroupEvent, member_id: str) -> None:
    """Remove a member whose session timeout is over, unless one of its requests waits here."""
    group = event.group
    if member_id in group.pending_joins:
        event.remove_member(member_id)
        complete_if_all_joined(event)
        return
    member = group.members.get(member_id)
    if member is None:
        return
    is_waiting = member_id in group.waiting_joins or member_id in group.waiting_syncs
    if member.is_new or not is_waiting:
        event.remove_member(member_id)
        rebalance_or_complete(event)


def reset_assignments(event: ClassicGroupEvent, code: int) -> None:
    """Discard the assignments of the generation, and end the syncs that wait with an error."""
    for member in event.group.members.values():
        member.assignment = b""
    for member_id in tuple(event.group.waiting_syncs):
        event.fail_sync(member_id, code)
        event.start_session(member_id)


def _begin_generation(event: ClassicGroupEvent) -> None:
    group = event.group
    group.is_initial_rebalance = False
    group.begin_generation(event.now_ms)
    for member_id, member in group.members.items():
        waiting = group.waiting_joins.pop(member_id, None)
        if waiting is not None:
            is_leader = member_id == group.leader_id
            response = responses.joined(group, member_id, with_members=is_leader)
            event.answer(waiting.ticket, response)
        event.start_session(member_id)
        member.is_new = False
        group.pending_syncs.add(member_id)
    event.set_sync_timer(group.rebalance_timeout_ms)


def _become_empty(event: ClassicGroupEvent) -> None:
    """Append the record of an empty group. It becomes empty also if the append is rejected.

    A coordinator that then loads the generation before finds members whose sessions end.
    """
    event.group.is_initial_rebalance = False
    value = emptied_value(event.group, event.now_ms)
    event.append(value, lambda failed, _: _become_empty_unsaved(failed, value))


def _become_empty_unsaved(event: ClassicGroupEvent, value: GroupMetadataValue) -> None:
    apply_value(event.group, value)
