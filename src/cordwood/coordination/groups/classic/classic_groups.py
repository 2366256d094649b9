"""Classic groups of one shard (Kafka: the `classicGroup` methods of `GroupMetadataManager`).

The shard composes this with the groups of the consumer protocol. It passes requests here whose
group is classic or missing, and those of an empty consumer group once that is out of the registry.
"""

from typing import Final

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.groups.classic import classic_group_responses as responses
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_description import described, not_described
from cordwood.coordination.groups.classic.classic_group_event import (
    JOIN_TIMER,
    SESSION_TIMER,
    SYNC_TIMER,
    ClassicGroupEvent,
)
from cordwood.coordination.groups.classic.classic_group_heartbeat import heartbeat
from cordwood.coordination.groups.classic.classic_group_join import join
from cordwood.coordination.groups.classic.classic_group_leave import (
    leave,
    leaving_members,
    left,
    unknown_members,
)
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.classic.classic_group_sync import sync
from cordwood.coordination.groups.classic.classic_rebalance import (
    end_join_time,
    end_session,
    end_sync_time,
    prepare_rebalance,
)
from cordwood.coordination.groups.classic.group_metadata_record import apply_value, created_value
from cordwood.coordination.groups.classic.join_attempt import JoinAttempt, attempt_of, fail
from cordwood.coordination.groups.classic.member_ids import new_member_id
from cordwood.coordination.groups.group import Group
from cordwood.coordination.groups.group_registry import GroupRegistry
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.outcome import Outcome, Ticket, TimerKey
from cordwood.core.errors import (
    InconsistentGroupProtocolError,
    InvalidGroupIdError,
    InvalidSessionTimeoutError,
    KafkaError,
    UnknownMemberIdError,
)
from cordwood.core.ports import Random
from cordwood.protocol.messages.describe_groups import DescribedGroup
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.internal import GroupMetadataValue
from cordwood.protocol.messages.join_group import JoinGroupRequest
from cordwood.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from cordwood.protocol.messages.sync_group import SyncGroupRequest

TIMERS: Final = frozenset({SESSION_TIMER, JOIN_TIMER, SYNC_TIMER})
"""The kinds of timers that `on_timer` takes."""

_PROTOCOL_REQUIRED_SINCE: Final = 5


class ClassicGroups:
    """The requests, records and timers of classic groups."""

    def __init__(self, registry: GroupRegistry, settings: GroupSettings, *, random: Random) -> None:
        self._registry = registry
        self._settings = settings
        self._random = random

    # -- requests

    def join_group(
        self, request: JoinGroupRequest, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> Outcome:
        """Let a member join; the first one without a member id creates the group."""
        group = self._registry.by_id.get(request.group_id)
        code = self._join_error(request, group)
        if code:
            response = responses.join_error(code, request.member_id, version=client.api_version)
            return Outcome.answer(ticket, response)
        new_id = ""
        if not request.member_id:
            new_id = new_member_id(client.client_id, request.group_instance_id, random=self._random)
        attempt = attempt_of(request, client, ticket=ticket, new_member_id=new_id)
        if isinstance(group, ClassicGroup):
            event = self._event(group, now_ms)
            join(event, attempt)
            return event.outcome
        return self._join_new_group(attempt, now_ms)

    def sync_group(
        self, request: SyncGroupRequest, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> Outcome:
        """Let a member wait for its assignment; the leader's request has all assignments."""
        lacks_protocol = request.protocol_type is None or request.protocol_name is None
        if client.api_version >= _PROTOCOL_REQUIRED_SINCE and lacks_protocol:
            return Outcome.answer(ticket, responses.sync_error(InconsistentGroupProtocolError.code))
        if not request.group_id:
            return Outcome.answer(ticket, responses.sync_error(InvalidGroupIdError.code))
        group = self._classic(request.group_id)
        if group is None:
            return Outcome.answer(ticket, responses.sync_error(UnknownMemberIdError.code))
        event = self._event(group, now_ms)
        sync(event, request, ticket=ticket)
        return event.outcome

    def heartbeat(
        self,
        request: HeartbeatRequest,
        client: ClientContext,  # noqa: ARG002  all requests have the same parameters
        *,
        ticket: Ticket,
        now_ms: int,
    ) -> Outcome:
        """Begin the session of a member again."""
        if not request.group_id:
            return _heartbeat_answer(ticket, InvalidGroupIdError.code)
        group = self._classic(request.group_id)
        if group is None:
            return _heartbeat_answer(ticket, UnknownMemberIdError.code)
        event = self._event(group, now_ms)
        try:
            code = heartbeat(event, request)
        except KafkaError as error:
            return _heartbeat_answer(ticket, error.code)
        event.answer(ticket, HeartbeatResponse(error_code=code))
        return event.outcome

    def leave_group(
        self, request: LeaveGroupRequest, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> Outcome:
        """Remove members."""
        version = client.api_version
        members = leaving_members(request, version=version)
        if not request.group_id:
            response = LeaveGroupResponse(error_code=InvalidGroupIdError.code)
            return Outcome.answer(ticket, response)
        group = self._classic(request.group_id)
        if group is None:
            return Outcome.answer(ticket, left(unknown_members(members), version=version))
        event = self._event(group, now_ms)
        results = leave(event, members)
        event.answer(ticket, left(results, version=version))
        return event.outcome

    def describe(self, group_id: str, client: ClientContext) -> DescribedGroup:
        """Describe one group of a DescribeGroups request."""
        group = self._registry.by_id.get(group_id)
        if isinstance(group, ClassicGroup):
            return described(group)
        problem = "not found" if group is None else "is not a classic group"
        return not_described(group_id, f"Group {group_id} {problem}.", version=client.api_version)

    # -- steps of other requests

    def keep_session(self, group: ClassicGroup, member_id: str, *, now_ms: int) -> Outcome:
        """Begin a member's session again for a commit of offsets, which is a sign of life.

        In CompletingRebalance it is not, as in Kafka.
        """
        event = self._event(group, now_ms)
        is_counted = group.state in {
            ClassicGroupState.STABLE,
            ClassicGroupState.PREPARING_REBALANCE,
        }
        if is_counted and member_id in group.members:
            event.start_session(member_id)
        return event.outcome

    def simple_group(self, group_id: str, *, now_ms: int) -> Group:
        """Return the group of a commit without a member; create a simple one if it is missing.

        A simple group has no record: a load creates it again from its offsets.
        """
        group = self._registry.by_id.get(group_id)
        if group is None:
            group = ClassicGroup(group_id, now_ms)
            self._registry.put(group)
        return group

    def start_sessions(self, group: ClassicGroup, *, now_ms: int) -> Outcome:
        """Begin the sessions of all members of a group that was loaded or converted."""
        event = self._event(group, now_ms)
        for member_id in group.members:
            event.start_session(member_id)
        return event.outcome

    def rebalance(self, group: ClassicGroup, *, now_ms: int) -> Outcome:
        """Begin a rebalance of a group that was converted, or has too many members."""
        event = self._event(group, now_ms)
        prepare_rebalance(event)
        return event.outcome

    def retire(self, group: ClassicGroup, error: KafkaError, *, now_ms: int) -> Outcome:
        """Answer all requests that wait in a group with an error, and cancel its timers.

        The group is then Dead; the caller has it removed or converted.
        """
        event = self._event(group, now_ms)
        for member_id in group.members:
            event.fail_join(member_id, error.code, response_id=member_id)
            event.fail_sync(member_id, error.code)
        for member_id in (*group.members, *group.pending_joins):
            event.stop_session(member_id)
        event.set_join_timer(None)
        event.set_sync_timer(None)
        group.transition(ClassicGroupState.DEAD, now_ms)
        return event.outcome

    # -- the shard

    def replay(self, group_id: str, value: GroupMetadataValue | None) -> None:
        """Change the state by a record of type 2; None is its tombstone."""
        group = self._classic(group_id)
        if value is None:
            if group is not None:
                group.transition(ClassicGroupState.DEAD, group.state_timestamp_ms)
                self._registry.remove(group)
        elif group is None:
            group = ClassicGroup(group_id)
            apply_value(group, value)
            self._registry.put(group)
        elif group.unsaved == value:
            group.unsaved = None
        else:
            apply_value(group, value)

    def finish_load(self, now_ms: int) -> Outcome:
        """Begin the sessions of all members, and rebalance groups above `group.max.size`."""
        outcome = Outcome()
        for group in self._registry:
            if not isinstance(group, ClassicGroup):
                continue
            outcome.add(self.start_sessions(group, now_ms=now_ms))
            if len(group.members) > self._settings.max_size:
                outcome.add(self.rebalance(group, now_ms=now_ms))
        return outcome

    def on_timer(self, key: TimerKey, now_ms: int) -> Outcome:
        """Return the outcome of a timer whose kind is in `TIMERS`."""
        kind, group_id, *subject = key
        group = self._classic(group_id)
        if group is None:
            return Outcome()
        event = self._event(group, now_ms)
        if kind == SESSION_TIMER:
            end_session(event, subject[0])
        elif kind == JOIN_TIMER:
            end_join_time(event)
        else:
            end_sync_time(event)
        return event.outcome

    def close(self, error: KafkaError, *, now_ms: int = 0) -> Outcome:
        """Answer all requests that wait, because this broker no longer coordinates the groups."""
        outcome = Outcome()
        for group in self._registry:
            if isinstance(group, ClassicGroup):
                outcome.add(self.retire(group, error, now_ms=now_ms))
        return outcome

    def _event(self, group: ClassicGroup, now_ms: int) -> ClassicGroupEvent:
        return ClassicGroupEvent(group, self._settings, now_ms=now_ms)

    def _classic(self, group_id: str) -> ClassicGroup | None:
        group = self._registry.by_id.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def _join_error(self, request: JoinGroupRequest, group: Group | None) -> int:
        """Return the error of a request that reaches no classic group, 0 if there is none."""
        settings = self._settings
        shortest, longest = settings.min_session_timeout_ms, settings.max_session_timeout_ms
        if not request.group_id:
            return InvalidGroupIdError.code
        if not shortest <= request.session_timeout_ms <= longest:
            return InvalidSessionTimeoutError.code
        if group is None and request.member_id:
            return UnknownMemberIdError.code
        is_other = group is not None and not isinstance(group, ClassicGroup)
        return InconsistentGroupProtocolError.code if is_other else 0

    def _join_new_group(self, attempt: JoinAttempt, now_ms: int) -> Outcome:
        """Create a group with its first member; its record has no trace of the member."""
        group = ClassicGroup(attempt.request.group_id, now_ms)
        event = self._event(group, now_ms)
        join(event, attempt)
        group.unsaved = created_value(group)

        def forget(failure: ClassicGroupEvent, error: KafkaError) -> None:
            self._registry.remove(group)
            failure.outcome.timers.clear()
            fail(failure, attempt, code=error.code)

        event.append(group.unsaved, forget)
        self._registry.put(group)
        return event.outcome


def _heartbeat_answer(ticket: Ticket, code: int) -> Outcome:
    return Outcome.answer(ticket, HeartbeatResponse(error_code=code))
