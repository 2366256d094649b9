"""JoinGroup request of one member, and its steps that all joins share.

Kafka: `addMemberThenRebalanceOrCompleteJoin`, `ClassicGroup.updateMember`.

A request has MOST_PROTOCOLS at most, unlike in Kafka. Clients have one for each assignor of their
settings. A rebalance looks through the protocols of each member several times.
"""

from typing import Final, NamedTuple

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.groups.classic import classic_group_responses as responses
from cordwood.coordination.groups.classic.classic_group_event import ClassicGroupEvent
from cordwood.coordination.groups.classic.classic_group_member import (
    ClassicGroupMember,
    MemberProtocol,
    WaitingJoin,
)
from cordwood.coordination.groups.classic.classic_rebalance import rebalance_or_complete
from cordwood.coordination.outcome import Ticket
from cordwood.protocol.messages.join_group import JoinGroupRequest

MOST_PROTOCOLS: Final = 1_000


class JoinAttempt(NamedTuple):
    """A JoinGroup request, and the id for a member that has none."""

    request: JoinGroupRequest
    client: ClientContext
    ticket: Ticket
    new_member_id: str
    #: The protocols of the request, copied out of its frame.
    protocols: tuple[MemberProtocol, ...]

    @property
    def waiting(self) -> WaitingJoin:
        """The request, as it waits for the next generation."""
        return WaitingJoin(self.ticket, self.client.api_version)

    @property
    def rebalance_timeout_ms(self) -> int:
        """The rebalance timeout; requests of version 0 have one timeout for both."""
        if self.client.api_version == 0:
            return self.request.session_timeout_ms
        return self.request.rebalance_timeout_ms

    def member(self, member_id: str) -> ClassicGroupMember:
        """Return the joining member under an id."""
        return ClassicGroupMember(
            member_id=member_id,
            instance_id=self.request.group_instance_id,
            client_id=self.client.client_id,
            client_host=self.client.host,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            session_timeout_ms=self.request.session_timeout_ms,
            protocols=self.protocols,
            is_new=True,
        )


def attempt_of(
    request: JoinGroupRequest, client: ClientContext, *, ticket: Ticket, new_member_id: str
) -> JoinAttempt:
    """Return the attempt of a request."""
    protocols = tuple(MemberProtocol(each.name, bytes(each.metadata)) for each in request.protocols)
    return JoinAttempt(request, client, ticket, new_member_id, protocols)


def fail(event: ClassicGroupEvent, attempt: JoinAttempt, *, code: int, member_id: str = "") -> None:
    """Answer with an error."""
    version = attempt.client.api_version
    event.answer(attempt.ticket, responses.join_error(code, member_id, version=version))


def add(event: ClassicGroupEvent, attempt: JoinAttempt, *, member_id: str) -> None:
    """Add a member, which begins or extends a rebalance."""
    group, member = event.group, attempt.member(member_id)
    group.has_new_member |= group.is_initial_rebalance
    if not group.members:
        group.protocol_type = attempt.request.protocol_type
    group.add(member)
    event.wait_for_join(member_id, attempt.waiting)
    event.start_session(member_id, event.settings.new_member_join_timeout_ms)
    rebalance_or_complete(event)


def update(event: ClassicGroupEvent, attempt: JoinAttempt, *, member: ClassicGroupMember) -> None:
    """Let a member wait for the next generation, with its new protocols and timeouts."""
    event.group.set_protocols(member, attempt.protocols)
    member.rebalance_timeout_ms = attempt.rebalance_timeout_ms
    member.session_timeout_ms = attempt.request.session_timeout_ms
    event.wait_for_join(member.member_id, attempt.waiting)
