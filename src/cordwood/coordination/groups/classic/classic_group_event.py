"""One event of a classic group: a request, a timer or a rejected append.

    timer key                          due
    classic-session, group, member     the session timeout of a member, or of an id it has not used
    classic-join, group                the initial delay, or the rebalance timeout for joins
    classic-sync, group                the rebalance timeout for syncs

A timer that is due after its subject has gone, or has moved on, changes nothing.
"""

from collections.abc import Callable
from typing import Final

from cordwood.coordination.groups.classic import classic_group_responses as responses
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_member import WaitingJoin
from cordwood.coordination.groups.classic.group_metadata_record import metadata_record
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.outcome import Answer, Outcome, Ticket, TimerChange, TimerKey
from cordwood.core.errors import KafkaError, RebalanceInProgressError, UnknownMemberIdError
from cordwood.protocol.messages.internal import GroupMetadataValue
from cordwood.protocol.schema import Response

SESSION_TIMER: Final = "classic-session"
JOIN_TIMER: Final = "classic-join"
SYNC_TIMER: Final = "classic-sync"

OnFailure = Callable[["ClassicGroupEvent", KafkaError], None]


class ClassicGroupEvent:
    """The group, the time, and the outcome as far as it is known."""

    __slots__ = ("group", "now_ms", "outcome", "settings")

    def __init__(self, group: ClassicGroup, settings: GroupSettings, *, now_ms: int) -> None:
        self.group = group
        self.settings = settings
        self.now_ms = now_ms
        self.outcome = Outcome()

    def append(self, value: GroupMetadataValue, on_failure: OnFailure) -> None:
        """Append a record of the group; a rejected append is an event of its own.

        Its outcome begins with the timers of this one, which a rejected outcome loses.
        """
        group, settings, timers = self.group, self.settings, self.outcome.timers

        def failed(error: KafkaError, now_ms: int) -> Outcome:
            event = ClassicGroupEvent(group, settings, now_ms=now_ms)
            event.outcome.timers += timers
            on_failure(event, error)
            return event.outcome

        self.outcome.records.append(metadata_record(group.group_id, value))
        self.outcome.on_failure = failed

    def answer(self, ticket: Ticket, response: Response) -> None:
        """Give the response of a request."""
        self.outcome.answers.append(Answer(ticket, response))

    def wait_for_join(self, member_id: str, waiting: WaitingJoin) -> None:
        """Let a JoinGroup request wait; an earlier one of the member has to be sent again."""
        self.fail_join(member_id, RebalanceInProgressError.code, response_id=member_id)
        self.group.waiting_joins[member_id] = waiting

    def fail_join(self, member_id: str, code: int, *, response_id: str = "") -> None:
        """End the wait of a member's JoinGroup request with an error, if there is one."""
        waiting = self.group.waiting_joins.pop(member_id, None)
        if waiting is not None:
            response = responses.join_error(code, response_id, version=waiting.api_version)
            self.answer(waiting.ticket, response)

    def wait_for_sync(self, member_id: str, ticket: Ticket) -> None:
        """Let a SyncGroup request wait; an earlier one of the member ends with an error."""
        self.fail_sync(member_id, RebalanceInProgressError.code)
        self.group.waiting_syncs[member_id] = ticket

    def fail_sync(self, member_id: str, code: int) -> None:
        """End the wait of a member's SyncGroup request with an error, if there is one."""
        ticket = self.group.waiting_syncs.pop(member_id, None)
        if ticket is not None:
            self.answer(ticket, responses.sync_error(code))

    def remove_member(self, member_id: str) -> None:
        """Remove a member or a pending one; its requests end with UNKNOWN_MEMBER_ID."""
        self.fail_join(member_id, UnknownMemberIdError.code)
        self.fail_sync(member_id, UnknownMemberIdError.code)
        self.stop_session(member_id)
        self.group.remove(member_id)

    def start_session(self, member_id: str, timeout_ms: int | None = None) -> None:
        """Restart the session timeout of a member, or of a pending one with its own timeout."""
        if timeout_ms is None:
            timeout_ms = self.group.members[member_id].session_timeout_ms
        self.set_timer(self._session(member_id), timeout_ms)

    def stop_session(self, member_id: str) -> None:
        """Cancel the session timeout of a member."""
        self.set_timer(self._session(member_id), None)

    def set_join_timer(self, delay_ms: int | None) -> None:
        """Set the end of the time for joins; None cancels it."""
        self.set_timer((JOIN_TIMER, self.group.group_id), delay_ms)

    def set_sync_timer(self, delay_ms: int | None) -> None:
        """Set the end of the time for syncs; None cancels it."""
        self.set_timer((SYNC_TIMER, self.group.group_id), delay_ms)

    def set_timer(self, key: TimerKey, delay_ms: int | None) -> None:
        """Set a timer; None cancels it."""
        at_ms = None if delay_ms is None else self.now_ms + delay_ms
        self.outcome.timers.append(TimerChange(key, at_ms))

    def _session(self, member_id: str) -> TimerKey:
        return SESSION_TIMER, self.group.group_id, member_id
