"""Member of a classic group (Kafka: `ClassicGroupMember`).

The supported protocols are those of the member's last JoinGroup, in its order of preference. A
member that was loaded from a record has only the protocol of its generation.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from cordwood.coordination.outcome import Ticket


class MemberProtocol(NamedTuple):
    """A protocol, with the member's metadata for it: for consumers, the subscription."""

    name: str
    metadata: bytes


class WaitingJoin(NamedTuple):
    """A JoinGroup request that waits for the next generation."""

    ticket: Ticket
    api_version: int


@dataclass(slots=True, kw_only=True)
class ClassicGroupMember:
    """A member, from its JoinGroup on; a static one has an instance id."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[MemberProtocol, ...]
    assignment: bytes = b""
    #: Until the first generation the client does not know its member id, and sends no heartbeats.
    is_new: bool = False

    @property
    def is_static(self) -> bool:
        """Whether the member keeps its place over restarts of its client."""
        return self.instance_id is not None

    def supports(self, protocol: str) -> bool:
        """Return whether the member has a protocol."""
        return any(each.name == protocol for each in self.protocols)

    def metadata(self, protocol: str | None) -> bytes:
        """Return the metadata for a protocol, empty if the member does not have it."""
        return next((each.metadata for each in self.protocols if each.name == protocol), b"")

    def vote(self, candidates: Collection[str]) -> str:
        """Return the preferred protocol among those that all members support."""
        return next(each.name for each in self.protocols if each.name in candidates)

    def renamed(self, member_id: str) -> Self:
        """Return the same static member under the id of its restarted client."""
        return replace(self, member_id=member_id, is_new=False)
