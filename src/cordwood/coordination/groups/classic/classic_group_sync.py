"""SyncGroup in a classic group (Kafka: `GroupMetadataManager.classicGroupSyncToClassicGroup`).

PreparingRebalance    27: the member has to join again
CompletingRebalance   the request waits; that of the leader has all assignments, which are
                      appended, and then answered to all
Stable                the member's assignment
"""

from collections.abc import Iterable

from cordwood.coordination.groups.classic import classic_group_responses as responses
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_event import ClassicGroupEvent
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.classic.classic_rebalance import (
    rebalance_or_complete,
    reset_assignments,
)
from cordwood.coordination.groups.classic.group_metadata_record import assigned_value
from cordwood.coordination.outcome import CoordinatorEvent, EventCount, Ticket
from cordwood.core.errors import (
    IllegalGenerationError,
    InconsistentGroupProtocolError,
    KafkaError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment


def sync(event: ClassicGroupEvent, request: SyncGroupRequest, *, ticket: Ticket) -> None:
    """Let a member wait for its assignment, or answer."""
    group, member_id = event.group, request.member_id
    try:
        _validate(group, request)
    except KafkaError as error:
        event.answer(ticket, responses.sync_error(error.code))
        return
    group.pending_syncs.discard(member_id)
    if not group.pending_syncs:
        event.set_sync_timer(None)
    if group.state is ClassicGroupState.STABLE:
        event.answer(ticket, responses.synced(group, group.members[member_id].assignment))
        return
    event.wait_for_sync(member_id, ticket)
    if member_id == group.leader_id:
        _append_assignments(event, request.assignments)


def _validate(group: ClassicGroup, request: SyncGroupRequest) -> None:
    if group.is_empty:
        raise UnknownMemberIdError(f"Group {group.group_id} has no members.")
    group.validate_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise IllegalGenerationError(f"The generation is {group.generation}.")
    if _differs(request.protocol_type, group.protocol_type or None) or _differs(
        request.protocol_name, group.protocol_name
    ):
        raise InconsistentGroupProtocolError(f"The protocol is {group.protocol_name}.")
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        raise RebalanceInProgressError(f"Group {group.group_id} begins the next generation.")


def _differs(requested: str | None, present: str | None) -> bool:
    """Return whether a protocol is another one; null is any, as before version 5."""
    return requested is not None and present is not None and requested != present


def _append_assignments(
    event: ClassicGroupEvent, assignments: Iterable[SyncGroupRequestAssignment]
) -> None:
    """Append the leader's assignments, and answer all members that wait."""
    group = event.group
    members = group.members
    given = {
        each.member_id: bytes(each.assignment) for each in assignments if each.member_id in members
    }
    waiting, group.waiting_syncs = group.waiting_syncs, {}

    def failed(failure: ClassicGroupEvent, error: KafkaError) -> None:
        group.waiting_syncs = waiting
        reset_assignments(failure, error.code)
        rebalance_or_complete(failure)

    event.append(assigned_value(group, given), failed)
    event.outcome.events += (EventCount(CoordinatorEvent.CLASSIC_REBALANCE),)
    for member_id, ticket in waiting.items():
        event.answer(ticket, responses.synced(group, given.get(member_id, b"")))
        # A session that has ended while its member waited was ignored, so it begins again here.
        event.start_session(member_id)
