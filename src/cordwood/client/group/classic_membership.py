"""Membership of a classic group, as a state machine (Java: `ConsumerCoordinator`).

    UNJOINED ─poll─► PREPARING ─► JOINING ─► ASSIGNING ─► SYNCING ─► COMPLETING ─► STABLE
        ▲         commits, callbacks        leader only               callbacks       │
        └─ group rebalances · member unknown · subscription or metadata changed ──────┘

A rebalance begins in a poll, because the user's records of the last poll are then processed: they
are committed before another member continues. Retries of a join need no poll. Without cooperative
assignors a member revokes all partitions before it joins. With them it keeps its partitions,
revokes those that the new assignment lacks, and joins again to let their new owners have them.
"""

from collections import deque
from collections.abc import Mapping
from enum import Enum

from cordwood.client.group.assignors.assignor import SubscribedMember, topics_of
from cordwood.client.group.classic_requests import (
    ClassicHeartbeats,
    heartbeat_request,
    join_request,
    leave_request,
    sync_request,
)
from cordwood.client.group.consumer_protocol import decode_assignment, decode_subscription
from cordwood.client.group.membership import (
    Effect,
    LoadTopics,
    MemberIdentity,
    MembershipEnded,
    MembershipError,
    Rebalance,
    RebalanceKind,
    SendRequest,
)
from cordwood.client.group.membership_config import MembershipConfig
from cordwood.client.group.topic_subscription import TopicSubscription
from cordwood.client.network.exponential_backoff import ExponentialBackoff
from cordwood.core.errors import (
    AccessError,
    BytesError,
    FencedInstanceIdError,
    IllegalGenerationError,
    InconsistentGroupProtocolError,
    KafkaError,
    MemberIdRequiredError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.heartbeat import HeartbeatRequest
from cordwood.protocol.messages.join_group import JoinGroupResponse
from cordwood.protocol.messages.leave_group import LeaveGroupRequest
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from cordwood.protocol.schema import Request, Response

_NONE: frozenset[TopicPartition] = frozenset()


class ClassicMemberState(Enum):
    """State of the membership; see the module."""

    UNJOINED = "unjoined"
    PREPARING = "preparing"
    JOINING = "joining"
    ASSIGNING = "assigning"
    SYNCING = "syncing"
    COMPLETING = "completing"
    STABLE = "stable"
    LEAVING = "leaving"
    ENDED = "ended"


_BEFORE_JOIN = {ClassicMemberState.UNJOINED, ClassicMemberState.PREPARING}
_ENDING = {ClassicMemberState.LEAVING, ClassicMemberState.ENDED}


class ClassicMembership:  # tidy: allow[class-lines] one state machine, each event a method
    """One member of one classic group."""

    def __init__(self, config: MembershipConfig, backoff: ExponentialBackoff) -> None:
        self.state = ClassicMemberState.UNJOINED
        self.identity = MemberIdentity()
        self.owned = _NONE
        self._config = config
        self._backoff = backoff
        self._heartbeats = ClassicHeartbeats(config)
        self._effects: list[Effect] = []
        self._rebalances: deque[Rebalance] = deque()
        self._subscription = TopicSubscription()
        self._joined_topics: frozenset[str] | None = None
        self._members: tuple[SubscribedMember, ...] = ()
        self._observed: dict[str, int] | None = None
        self._protocol: str | None = None
        self._reason = "the consumer subscribes"
        self._awaited: Request | None = None
        self._retry_at_ms: float | None = None
        self._needs_rejoin = self._is_prepared = False
        self._is_lost = self._is_leaving_group = self._skips_assignment = False

    # Observed by the runner.

    @property
    def wake_at_ms(self) -> float | None:
        """Time of the next `on_time`."""
        times = [self._retry_at_ms, *self._heartbeats.times]
        return min((each for each in times if each is not None), default=None)

    @property
    def needs_poll(self) -> bool:
        """Whether a rebalance begins at the next poll."""
        can_begin = self.state in {ClassicMemberState.UNJOINED, ClassicMemberState.STABLE}
        is_waiting = self._retry_at_ms is not None or self._is_prepared
        return can_begin and self._needs_rejoin and not is_waiting

    @property
    def metadata_topics(self) -> frozenset[str]:
        """Topics whose partition counts matter: of the consumer, and as leader of the group."""
        return self._subscription.names | frozenset(self._observed or ())

    @property
    def is_ending(self) -> bool:
        """Whether the group is left, or about to be."""
        return self.state in _ENDING

    def take_effects(self) -> list[Effect]:
        """Return the effects since the last call."""
        effects, self._effects = self._effects, []
        return effects

    # Events.

    def subscribe(self, subscription: TopicSubscription, now_ms: float) -> None:
        """Join with a subscription, or rejoin if its topics have changed."""
        del now_ms
        self._subscription = subscription
        if subscription.names != self._joined_topics:
            self._rejoin("the subscribed topics have changed")

    def on_poll(self, now_ms: float) -> None:
        """Begin a rebalance if one is due."""
        self._heartbeats.poll_deadline_ms = None
        if self.needs_poll:
            self._prepare(now_ms)

    def on_poll_end(self, now_ms: float) -> None:
        """Start the time until the next poll."""
        self._heartbeats.poll_deadline_ms = now_ms + self._config.max_poll_interval_ms

    def on_time(self, now_ms: float) -> None:
        """Retry a join, send a heartbeat, or give up a member that does not poll."""
        if self._retry_at_ms is not None and now_ms >= self._retry_at_ms:
            self._retry_at_ms = None
            if self._is_prepared and self.state is ClassicMemberState.UNJOINED:
                self._join()
        if self._heartbeats.is_poll_late(now_ms):
            self._give_up_member()
        elif self._heartbeats.take_due(now_ms):
            self._effects.append(SendRequest(heartbeat_request(self._config, self.identity)))

    def on_response(self, request: Request, response: Response, *, now_ms: float) -> None:
        """Handle a response without an error."""
        if isinstance(request, HeartbeatRequest):
            self._heartbeats.succeed(now_ms)
            self._backoff.reset()
        elif isinstance(request, LeaveGroupRequest):
            self._end_leaving(request)
        elif request is self._awaited:
            self._awaited = None
            self._backoff.reset()
            try:
                self._go_on(response, now_ms)
            except BytesError as error:
                text = f"group {self._config.group_id!r}: a member has sent invalid metadata"
                self._fail(InconsistentGroupProtocolError(f"{text}: {error}; close that member"))

    def on_error(
        self, request: Request, error: KafkaError, *, now_ms: float, member_id: str = ""
    ) -> None:
        """Handle an error of a request."""
        if isinstance(request, HeartbeatRequest):
            self._heartbeat_failed(request, error, now_ms)
        elif isinstance(request, LeaveGroupRequest):
            self._end_leaving(request)
        elif request is self._awaited:
            self._awaited = None
            self.state = ClassicMemberState.UNJOINED
            if isinstance(error, MemberIdRequiredError) and member_id:
                self.identity = MemberIdentity(member_id)
                self._join()
            else:
                self._join_failed(request, error, now_ms)

    def on_metadata(self, counts: Mapping[str, int], now_ms: float) -> None:
        """Rejoin as leader if the partition count of a topic of the group has changed."""
        del now_ms
        if self._observed is None:
            return
        found = {topic: counts.get(topic, known) for topic, known in self._observed.items()}
        if found != self._observed:
            self._observed = found
            self._rejoin("the partitions of a topic have changed")

    def on_partition_counts(self, counts: Mapping[str, int], now_ms: float) -> None:
        """Assign the partitions as leader; a static leader that returns observes them only."""
        del now_ms
        if self.state is not ClassicMemberState.ASSIGNING:
            return
        self._observed = {topic: counts.get(topic, 0) for topic in topics_of(self._members)}
        if self._skips_assignment:
            self._sync({})
            return
        assignor = next(each for each in self._config.assignors if each.name == self._protocol)
        self._sync(assignor.assign(self._members, self._observed))

    def on_topic_names(self, names: Mapping[Uuid, str], now_ms: float) -> None:
        """Ignore names: a classic group has no topic ids."""

    def on_rebalanced(self, now_ms: float) -> None:
        """Go on after the user's callbacks."""
        self.owned = self._rebalances.popleft().owned_after
        if self._rebalances:
            self._effects.append(self._rebalances[0])
        elif self.state is ClassicMemberState.PREPARING:
            self._prepare(now_ms)
        elif self.state is ClassicMemberState.COMPLETING:
            self.state = ClassicMemberState.STABLE
            if self._is_lost:
                self._prepare(now_ms)
        elif self.state is ClassicMemberState.LEAVING:
            self._leave_group()

    def leave(self, now_ms: float, *, is_leaving_group: bool | None) -> None:
        """Revoke all partitions, and leave the group unless the member is static."""
        del now_ms
        is_static = self._config.instance_id is not None
        self._is_leaving_group = not is_static if is_leaving_group is None else is_leaving_group
        self.state, self._needs_rejoin = ClassicMemberState.LEAVING, False
        self._retry_at_ms = self._awaited = None
        self._heartbeats.stop()
        kind = RebalanceKind.LOST if self._is_lost else RebalanceKind.REVOKED
        if self._rebalances:
            self._rebalances = deque([self._rebalances[0]])
            if self._rebalances[0].owned_after:
                left = self._rebalances[0].owned_after
                self._rebalances.append(Rebalance(kind, left, _NONE))
        elif self.owned:
            self._begin(Rebalance(kind, self.owned, _NONE))
        else:
            self._leave_group()

    # Joining.

    def _rejoin(self, reason: str) -> None:
        if self.state not in _ENDING:
            self._needs_rejoin, self._reason = True, reason

    def _prepare(self, now_ms: float) -> None:
        del now_ms
        self.state = ClassicMemberState.PREPARING
        if self._is_lost:
            revoked, self._is_lost = self.owned, False
            kind = RebalanceKind.LOST
        else:
            topics = self._subscription.names if self._config.is_cooperative else ()
            revoked = frozenset(each for each in self.owned if each.topic not in topics)
            kind = RebalanceKind.REVOKED
        if revoked:
            self._begin(Rebalance(kind, revoked, self.owned - revoked))
        else:
            self._join()

    def _begin(self, *rebalances: Rebalance) -> None:
        self._rebalances.extend(rebalances)
        self._effects.append(self._rebalances[0])

    def _join(self) -> None:
        self.state, self._is_prepared, self._needs_rejoin = ClassicMemberState.JOINING, True, False
        self._heartbeats.pause()
        self._joined_topics = self._subscription.names
        self._await(
            join_request(
                self._config,
                self.identity,
                topics=self._joined_topics,
                owned=self.owned,
                reason=self._reason,
            )
        )

    def _await(self, request: Request) -> None:
        self._awaited = request
        self._effects.append(SendRequest(request, self._config.join_timeout_ms))

    def _go_on(self, response: Response, now_ms: float) -> None:
        if isinstance(response, JoinGroupResponse):
            self._joined(response, now_ms)
        elif isinstance(response, SyncGroupResponse):
            self._synced(response)

    def _joined(self, response: JoinGroupResponse, now_ms: float) -> None:
        self.identity = MemberIdentity(response.member_id, response.generation_id)
        self._protocol, self._observed = response.protocol_name, None
        self._heartbeats.start(now_ms)
        if response.leader != response.member_id:
            self._sync({})
            return
        self._members = tuple(
            decode_subscription(
                each.metadata, member_id=each.member_id, instance_id=each.group_instance_id
            )
            for each in response.members
        )
        self._skips_assignment = response.skip_assignment
        if self._protocol not in {each.name for each in self._config.assignors}:
            self._fail(
                InconsistentGroupProtocolError(
                    f"group {self._config.group_id!r} selected the assignor {self._protocol!r};"
                    " give it in partition_assignment_strategy"
                )
            )
        else:
            self.state = ClassicMemberState.ASSIGNING
            self._effects.append(LoadTopics(topics_of(self._members)))

    def _sync(self, assignments: Mapping[str, list[TopicPartition]]) -> None:
        self.state = ClassicMemberState.SYNCING
        request = sync_request(
            self._config, self.identity, assignments=assignments, protocol=self._protocol
        )
        self._await(request)

    def _synced(self, response: SyncGroupResponse) -> None:
        """Take over the assignment; what another member gets later is revoked first."""
        self._is_prepared = False
        assigned = frozenset(decode_assignment(response.assignment))
        if not {each.topic for each in assigned} <= self._subscription.names:
            self.state = ClassicMemberState.STABLE
            self._rejoin("the assignment has topics that are no longer subscribed")
            return
        self.state = ClassicMemberState.COMPLETING
        revoked = self.owned - assigned
        if revoked:
            kept = self.owned & assigned
            self._begin(
                Rebalance(RebalanceKind.REVOKED, revoked, kept),
                Rebalance(RebalanceKind.ASSIGNED, assigned - kept, assigned),
            )
            self._rejoin("revoked partitions are free for other members")
        else:
            self._begin(Rebalance(RebalanceKind.ASSIGNED, assigned - self.owned, assigned))
        if self._joined_topics != self._subscription.names:
            self._rejoin("the subscribed topics have changed")

    def _join_failed(self, request: Request, error: KafkaError, now_ms: float) -> None:
        if isinstance(error, UnknownMemberIdError):
            self._forget(MemberIdentity())
        elif isinstance(error, IllegalGenerationError):
            self._forget(MemberIdentity(self.identity.member_id))
        elif not error.retriable and not isinstance(error, RebalanceInProgressError):
            self._fail(error)
            return
        is_sync = isinstance(request, SyncGroupRequest)
        is_at_once = is_sync and isinstance(error, RebalanceInProgressError)
        self._retry_at_ms = now_ms + (0 if is_at_once else self._backoff.next_ms())

    def _forget(self, identity: MemberIdentity) -> None:
        """Give up the generation; its partitions are lost, and the next poll reports it.

        Lost are also those of an assignment that the user has not taken over yet: another member
        may have processed their records when the user does.
        """
        self.identity, self._observed = identity, None
        self._heartbeats.stop()
        owned = self._rebalances[0].owned_after if self._rebalances else self.owned
        self._rebalances = deque([*self._rebalances][:1])
        self._is_lost = bool(owned)
        self._needs_rejoin, self._is_prepared = True, self._is_prepared and not owned

    def _fail(self, error: KafkaError) -> None:
        """Report an error; unless it is final, the poll after the raising one joins again."""
        is_final = not isinstance(error, AccessError)
        self._forget(MemberIdentity())
        self._is_prepared = False
        self.state = ClassicMemberState.ENDED if is_final else ClassicMemberState.UNJOINED
        if is_final and self._rebalances:
            left = self._rebalances[0].owned_after
            if left:
                self._rebalances.append(Rebalance(RebalanceKind.LOST, left, _NONE))
        elif is_final and self.owned:
            self._begin(Rebalance(RebalanceKind.LOST, self.owned, _NONE))
        self._effects.append(MembershipError(error, is_final))

    # Heartbeats, and the end.

    def _heartbeat_failed(
        self, request: HeartbeatRequest, error: KafkaError, now_ms: float
    ) -> None:
        self._heartbeats.fail(now_ms, self._backoff.next_ms())
        is_current = request.generation_id == self.identity.epoch
        if not is_current or self.state in _ENDING or self.state is ClassicMemberState.JOINING:
            return
        if isinstance(error, RebalanceInProgressError):
            self._heartbeats.succeed(now_ms)
            if self.state in {ClassicMemberState.STABLE, ClassicMemberState.COMPLETING}:
                self._rejoin("the group rebalances")
        elif isinstance(error, (UnknownMemberIdError, IllegalGenerationError)):
            is_known = isinstance(error, IllegalGenerationError)
            self._forget(MemberIdentity(self.identity.member_id if is_known else ""))
            if self.state is ClassicMemberState.STABLE:
                self.state = ClassicMemberState.UNJOINED
        elif isinstance(error, FencedInstanceIdError) or not error.retriable:
            self._fail(error)

    def _give_up_member(self) -> None:
        """Leave the group: the user has not polled in time."""
        self._heartbeats.poll_deadline_ms = None
        if self.identity.epoch < 0 or self.state in _ENDING:
            return
        if self._config.instance_id is None:
            reason = "the consumer has not polled within max.poll.interval.ms"
            self._effects.append(
                SendRequest(leave_request(self._config, self.identity, reason=reason))
            )
        self._reason = "the consumer polls again"
        self._awaited = None
        self._forget(MemberIdentity())
        if self.state not in {ClassicMemberState.PREPARING, ClassicMemberState.COMPLETING}:
            self.state, self._is_prepared = ClassicMemberState.UNJOINED, False

    def _leave_group(self) -> None:
        if self._is_leaving_group and self.identity.member_id:
            reason = "the consumer is closed or has unsubscribed"
            request = leave_request(self._config, self.identity, reason=reason)
            self._effects.append(SendRequest(request))
            self._awaited = request
        else:
            self._end_leaving(None)

    def _end_leaving(self, request: LeaveGroupRequest | None) -> None:
        if self.state is ClassicMemberState.LEAVING and request is self._awaited:
            self.state, self.identity = ClassicMemberState.ENDED, MemberIdentity()
            self._effects.append(MembershipEnded())
