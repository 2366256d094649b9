"""JoinGroup in a classic group (Kafka: `GroupMetadataManager.classicGroupJoin`).

    member id  instance id  the member is             result
    empty      null         new                       added; since version 4 error 79 with an id
    empty      given        a new instance            added
    empty      given        a known instance          takes its place (`static_member_join`)
    given      null         an id from an error 79    added
    given      any          a member                  waits for the next generation, or gets the
                                                      present one if nothing has changed
    given      any          unknown                   25; 82 if the instance has a newer id

A member with other protocols than all others gets 23, a member above `group.max.size` gets 81.
"""

from typing import Final

from cordwood.coordination.groups.classic import classic_group_responses as responses
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_event import ClassicGroupEvent
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.classic.classic_rebalance import (
    complete_if_all_joined,
    rebalance_or_complete,
)
from cordwood.coordination.groups.classic.join_attempt import JoinAttempt, add, fail, update
from cordwood.coordination.groups.classic.static_member_join import join_static
from cordwood.core.errors import (
    GroupMaxSizeReachedError,
    InconsistentGroupProtocolError,
    KafkaError,
    MemberIdRequiredError,
    UnknownServerError,
)

_MEMBER_ID_ROUND_SINCE: Final = 4


def join(event: ClassicGroupEvent, attempt: JoinAttempt) -> None:
    """Let a member join."""
    group, member_id = event.group, attempt.request.member_id
    if not _has_room(group, member_id, event.settings.max_size):
        event.remove_member(member_id)
        fail(event, attempt, code=GroupMaxSizeReachedError.code)
        complete_if_all_joined(event)
    elif not group.supports(attempt.request.protocol_type, attempt.protocols):
        fail(event, attempt, code=InconsistentGroupProtocolError.code, member_id=member_id)
    elif member_id:
        _join_as_known(event, attempt)
    elif attempt.request.group_instance_id is not None:
        join_static(event, attempt)
    elif attempt.client.api_version >= _MEMBER_ID_ROUND_SINCE:
        _return_member_id(event, attempt)
    else:
        add(event, attempt, member_id=attempt.new_member_id)


def _has_room(group: ClassicGroup, member_id: str, limit: int) -> bool:
    """Return whether a group has a place; in a rebalance the first members to join get them."""
    match group.state:
        case ClassicGroupState.PREPARING_REBALANCE:
            return member_id in group.waiting_joins or len(group.waiting_joins) < limit
        case ClassicGroupState.COMPLETING_REBALANCE | ClassicGroupState.STABLE:
            return member_id in group.members or len(group.members) < limit
        case _:
            return True


def _return_member_id(event: ClassicGroupEvent, attempt: JoinAttempt) -> None:
    """Return an id that the client has to join with, in its session timeout (KIP-394)."""
    member_id = attempt.new_member_id
    event.group.pending_joins.add(member_id)
    event.start_session(member_id, attempt.request.session_timeout_ms)
    fail(event, attempt, code=MemberIdRequiredError.code, member_id=member_id)


def _join_as_known(event: ClassicGroupEvent, attempt: JoinAttempt) -> None:
    group, member_id = event.group, attempt.request.member_id
    instance_id = attempt.request.group_instance_id
    if member_id in group.pending_joins:
        if instance_id is not None:
            # Static members never get an id with an error. Kafka fails here in the same way.
            fail(event, attempt, code=UnknownServerError.code)
        else:
            add(event, attempt, member_id=member_id)
        return
    try:
        group.validate_member(member_id, instance_id)
    except KafkaError as error:
        fail(event, attempt, code=error.code, member_id=member_id)
        return
    if _keeps_generation(group, attempt):
        is_completing = group.state is ClassicGroupState.COMPLETING_REBALANCE
        with_members = is_completing and member_id == group.leader_id
        event.answer(attempt.ticket, responses.joined(group, member_id, with_members=with_members))
    else:
        update(event, attempt, member=group.members[member_id])
        rebalance_or_complete(event)


def _keeps_generation(group: ClassicGroup, attempt: JoinAttempt) -> bool:
    """Return whether the request repeats the last one, so that no rebalance is needed.

    In a stable group the leader joins again to rebalance: only it knows of changed topics.
    """
    member_id = attempt.request.member_id
    is_unchanged = group.members[member_id].protocols == attempt.protocols
    match group.state:
        case ClassicGroupState.COMPLETING_REBALANCE:
            return is_unchanged
        case ClassicGroupState.STABLE:
            return is_unchanged and member_id != group.leader_id
        case _:
            return False
