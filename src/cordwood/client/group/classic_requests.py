"""Requests of a member of a classic group, and the times of its heartbeats (Java: `Heartbeat`)."""

from collections.abc import Collection, Mapping

from cordwood.client.group.consumer_protocol import (
    PROTOCOL_TYPE,
    encode_assignment,
    encode_subscription,
)
from cordwood.client.group.membership import MemberIdentity
from cordwood.client.group.membership_config import MembershipConfig
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.heartbeat import HeartbeatRequest
from cordwood.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from cordwood.protocol.messages.leave_group import LeaveGroupRequest
from cordwood.protocol.messages.leave_group import MemberIdentity as LeavingMember
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment


def join_request(
    config: MembershipConfig,
    identity: MemberIdentity,
    *,
    topics: Collection[str],
    owned: Collection[TopicPartition],
    reason: str,
) -> JoinGroupRequest:
    """Return a JoinGroup request with the metadata for each assignor."""
    metadata = encode_subscription(topics, owned, generation=identity.epoch)
    return JoinGroupRequest(
        group_id=config.group_id,
        session_timeout_ms=config.session_timeout_ms,
        rebalance_timeout_ms=config.max_poll_interval_ms,
        member_id=identity.member_id,
        group_instance_id=config.instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocols=[
            JoinGroupRequestProtocol(name=each.name, metadata=metadata) for each in config.assignors
        ],
        reason=reason,
    )


def sync_request(
    config: MembershipConfig,
    identity: MemberIdentity,
    *,
    assignments: Mapping[str, Collection[TopicPartition]],
    protocol: str | None,
) -> SyncGroupRequest:
    """Return a SyncGroup request; only the leader has assignments."""
    return SyncGroupRequest(
        group_id=config.group_id,
        generation_id=identity.epoch,
        member_id=identity.member_id,
        group_instance_id=config.instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=protocol,
        assignments=[
            SyncGroupRequestAssignment(member_id=member_id, assignment=encode_assignment(mine))
            for member_id, mine in assignments.items()
        ],
    )


def heartbeat_request(config: MembershipConfig, identity: MemberIdentity) -> HeartbeatRequest:
    """Return a heartbeat of the present generation."""
    return HeartbeatRequest(
        group_id=config.group_id,
        generation_id=identity.epoch,
        member_id=identity.member_id,
        group_instance_id=config.instance_id,
    )


def leave_request(
    config: MembershipConfig, identity: MemberIdentity, *, reason: str
) -> LeaveGroupRequest:
    """Return a LeaveGroup request in the form of version 3 and later."""
    member = LeavingMember(
        member_id=identity.member_id, group_instance_id=config.instance_id, reason=reason
    )
    return LeaveGroupRequest(group_id=config.group_id, members=[member])


class ClassicHeartbeats:
    """Times of a member's heartbeats, and the deadline of its user's next poll."""

    def __init__(self, config: MembershipConfig) -> None:
        self.poll_deadline_ms: float | None = None
        self._interval_ms = config.heartbeat_interval_ms
        self._next_ms: float | None = None
        self._is_running = False

    @property
    def times(self) -> tuple[float | None, float | None]:
        """Times of the next heartbeat and of the poll deadline."""
        return self._next_ms, self.poll_deadline_ms

    def start(self, now_ms: float) -> None:
        """Send heartbeats from now on."""
        self._is_running, self._next_ms = True, now_ms + self._interval_ms

    def pause(self) -> None:
        """Send no heartbeat while a join is under way."""
        self._is_running, self._next_ms = False, None

    def stop(self) -> None:
        """Send no heartbeat without a generation, and expect no poll."""
        self.pause()
        self.poll_deadline_ms = None

    def take_due(self, now_ms: float) -> bool:
        """Return whether a heartbeat is due; the next one is due after its response."""
        is_due = self._next_ms is not None and now_ms >= self._next_ms
        if is_due:
            self._next_ms = None
        return is_due

    def succeed(self, now_ms: float) -> None:
        """Schedule the heartbeat after a response."""
        if self._is_running:
            self._next_ms = now_ms + self._interval_ms

    def fail(self, now_ms: float, pause_ms: float) -> None:
        """Schedule the heartbeat after an error."""
        if self._is_running:
            self._next_ms = now_ms + min(pause_ms, self._interval_ms)

    def is_poll_late(self, now_ms: float) -> bool:
        """Return whether the user has not polled in time."""
        return self.poll_deadline_ms is not None and now_ms >= self.poll_deadline_ms
