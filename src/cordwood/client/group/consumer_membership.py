"""Membership of a group with server-side assignment, KIP-848 (Java: `ConsumerMembershipManager`).

    UNSUBSCRIBED ─poll─► JOINING ─assignment─► RECONCILING ─callbacks─► ACKNOWLEDGING ─► STABLE
                            ▲                       ▲                                      │
                            │                       └────────── another assignment ────────┘
                         FENCED: its epoch or member id is unknown
                         STALE: its user polls late; both lose all partitions

One request, the heartbeat, does everything. A reconciliation first revokes what the assignment
lacks, in a poll, because the user's records of the last poll are then processed and are committed.
Then it adds what is new, and a heartbeat acknowledges the result. While it runs, heartbeats do not
repeat the owned partitions.
"""

from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Final

from cordwood.client.group.heartbeat_fields import (
    PartitionOfId,
    SentFields,
    heartbeat_of,
    partitions_of_ids,
    unknown_ids,
)
from cordwood.client.group.membership import (
    Effect,
    MemberIdentity,
    MembershipEnded,
    MembershipError,
    Rebalance,
    RebalanceKind,
    ResolveTopicIds,
    SendRequest,
)
from cordwood.client.group.membership_config import MembershipConfig
from cordwood.client.group.topic_subscription import TopicSubscription
from cordwood.client.network.exponential_backoff import ExponentialBackoff
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import (
    FencedMemberEpochError,
    KafkaError,
    TopicAuthorizationFailedError,
    UnknownMemberIdError,
)
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cordwood.protocol.schema import Request, Response

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2

_NONE: Final[frozenset[TopicPartition]] = frozenset()


class ConsumerMemberState(Enum):
    """State of the membership; see the module."""

    UNSUBSCRIBED = "unsubscribed"
    JOINING = "joining"
    RECONCILING = "reconciling"
    ACKNOWLEDGING = "acknowledging"
    STABLE = "stable"
    FENCED = "fenced"
    STALE = "stale"
    LEAVING = "leaving"
    ENDED = "ended"


_S = ConsumerMemberState
_IN_GROUP = {_S.JOINING, _S.RECONCILING, _S.ACKNOWLEDGING, _S.STABLE}
_ENDING = {_S.LEAVING, _S.ENDED}


class ConsumerMembership:  # tidy: allow[class-lines] one state machine, each event a method
    """One member of one `consumer` group; its id is made by the client and does not change."""

    def __init__(
        self, config: MembershipConfig, backoff: ExponentialBackoff, *, member_id: str
    ) -> None:
        self.state = _S.UNSUBSCRIBED
        self.epoch = JOIN_EPOCH
        self.owned = _NONE
        self._config = config
        self._backoff = backoff
        self._member_id = member_id
        self._effects: list[Effect] = []
        self._rebalances: deque[Rebalance] = deque()
        self._subscription = TopicSubscription()
        self._sent = SentFields()
        self._names: dict[Uuid, str] = {}
        self._target: frozenset[PartitionOfId] = frozenset()
        self._acknowledged: frozenset[PartitionOfId] = frozenset()
        self._reconciled: frozenset[PartitionOfId] | None = None
        self._in_flight: ConsumerGroupHeartbeatRequest | None = None
        self._heartbeat_ms: float | None = None
        self._poll_deadline_ms: float | None = None
        self._leave_epoch: int | None = None

    # Observed by the runner.

    @property
    def identity(self) -> MemberIdentity:
        """The identity for commits."""
        return MemberIdentity(self._member_id, self.epoch) if self.epoch > 0 else MemberIdentity()

    @property
    def wake_at_ms(self) -> float | None:
        """Time of the next `on_time`."""
        heartbeat_ms = None if self._in_flight is not None else self._heartbeat_ms
        times = (heartbeat_ms, self._poll_deadline_ms)
        return min((each for each in times if each is not None), default=None)

    @property
    def needs_poll(self) -> bool:
        """Whether the membership begins at the next poll."""
        return self.state is _S.UNSUBSCRIBED and not self._subscription.is_empty

    @property
    def metadata_topics(self) -> frozenset[str]:
        """The subscribed names; the coordinator observes their partitions."""
        return self._subscription.names

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
        """Join with a subscription, or send the changed one."""
        self._subscription = subscription
        if self.state in _IN_GROUP:
            self._heartbeat_ms = now_ms

    def on_poll(self, now_ms: float) -> None:
        """Join, also after the user has polled late."""
        self._poll_deadline_ms = None
        if self.needs_poll:
            self._join(now_ms)
        elif self.state is _S.STALE and not self._rebalances:
            self._lose(now_ms)

    def on_poll_end(self, now_ms: float) -> None:
        """Start the time until the next poll."""
        self._poll_deadline_ms = now_ms + self._config.max_poll_interval_ms

    def on_time(self, now_ms: float) -> None:
        """Send a heartbeat, or leave because the user does not poll."""
        if self._poll_deadline_ms is not None and now_ms >= self._poll_deadline_ms:
            self._poll_deadline_ms = None
            if self.state in _IN_GROUP:
                self._send_leave(self._default_leave_epoch)
                self.state, self._heartbeat_ms = _S.STALE, None
        if self._heartbeat_ms is None or now_ms < self._heartbeat_ms:
            return
        if self._in_flight is None and self.state in _IN_GROUP:
            self._heartbeat_ms = None
            self._send_heartbeat()

    def on_response(self, request: Request, response: Response, *, now_ms: float) -> None:
        """Handle a heartbeat's response."""
        if not isinstance(response, ConsumerGroupHeartbeatResponse) or self._is_old(request):
            return
        self._in_flight = None
        self._backoff.reset()
        if self.state is _S.LEAVING:
            self._answered_while_leaving(epoch=response.member_epoch)
        elif self.state in _IN_GROUP:
            self.epoch = response.member_epoch
            is_due = self._heartbeat_ms is not None  # such as a changed subscription
            if not is_due:
                self._heartbeat_ms = now_ms + response.heartbeat_interval_ms
            if response.assignment is not None:
                self._target = partitions_of_ids(response.assignment.topic_partitions)
                if self.state is not _S.ACKNOWLEDGING:
                    self.state = _S.RECONCILING
            elif self.state is _S.JOINING:
                self.state = _S.STABLE
            self._reconcile(now_ms)

    def on_error(
        self, request: Request, error: KafkaError, *, now_ms: float, member_id: str = ""
    ) -> None:
        """Handle an error of a heartbeat; the next one has all fields."""
        del member_id
        if self._is_old(request):
            return
        self._in_flight, self._sent = None, SentFields()
        if self.state is _S.LEAVING:
            self._answered_while_leaving(epoch=self.epoch)
        elif self.state not in _IN_GROUP:
            return
        elif isinstance(error, (FencedMemberEpochError, UnknownMemberIdError)):
            # A heartbeat that is due is not sent: the join after the user's callbacks sends one.
            self.state, self.epoch, self._heartbeat_ms = _S.FENCED, JOIN_EPOCH, None
            if not self._rebalances:
                self._lose(now_ms)
        elif error.retriable or isinstance(error, TopicAuthorizationFailedError):
            if not error.retriable:
                self._effects.append(MembershipError(error, is_final=False))
            self._heartbeat_ms = now_ms + self._backoff.next_ms()
        else:
            self._fail(error)

    def on_metadata(self, counts: Mapping[str, int], now_ms: float) -> None:
        """Ignore partition counts: the coordinator observes them."""

    def on_partition_counts(self, counts: Mapping[str, int], now_ms: float) -> None:
        """Ignore partition counts: the coordinator assigns."""

    def on_topic_names(self, names: Mapping[Uuid, str], now_ms: float) -> None:
        """Go on with a reconciliation whose topics have names now."""
        self._names.update(names)
        if names:
            self._reconcile(now_ms)

    def on_rebalanced(self, now_ms: float) -> None:
        """Go on after the user's callbacks."""
        self.owned = self._rebalances.popleft().owned_after
        if self.state in {_S.FENCED, _S.STALE}:
            self._rebalances.clear()
            self._lose(now_ms)
        elif self._rebalances:
            self._effects.append(self._rebalances[0])
        elif self.state is _S.LEAVING:
            self._leave_group()
        elif self._reconciled is not None:
            self._acknowledged, self._reconciled = self._reconciled, None
            self.state, self._heartbeat_ms = _S.ACKNOWLEDGING, now_ms

    def leave(self, now_ms: float, *, is_leaving_group: bool | None) -> None:
        """Revoke all partitions and leave; a static member may return with its partitions."""
        del now_ms
        is_member = self.state in _IN_GROUP
        kind = RebalanceKind.REVOKED if is_member else RebalanceKind.LOST
        if is_member:
            self._leave_epoch = LEAVE_EPOCH if is_leaving_group else self._default_leave_epoch
        self.state, self._heartbeat_ms, self._poll_deadline_ms = _S.LEAVING, None, None
        self._reconciled = None
        if self._rebalances:
            left = self._rebalances[0].owned_after
            self._rebalances = deque([self._rebalances[0]])
            if left:
                self._rebalances.append(Rebalance(kind, left, _NONE))
        elif self.owned:
            self._begin(Rebalance(kind, self.owned, _NONE))
        else:
            self._leave_group()

    # Internals.

    @property
    def _default_leave_epoch(self) -> int:
        return LEAVE_EPOCH if self._config.instance_id is None else STATIC_LEAVE_EPOCH

    def _is_old(self, request: Request) -> bool:
        return request is not self._in_flight

    def _begin(self, *rebalances: Rebalance) -> None:
        self._rebalances.extend(rebalances)
        self._effects.append(self._rebalances[0])

    def _join(self, now_ms: float) -> None:
        self.state, self.epoch, self._heartbeat_ms = _S.JOINING, JOIN_EPOCH, now_ms
        self._target = self._acknowledged = frozenset()
        self._reconciled, self._sent = None, SentFields()

    def _send_heartbeat(self) -> None:
        is_reconciling = self.state is _S.RECONCILING
        request, self._sent = heartbeat_of(
            self._config,
            MemberIdentity(self._member_id, self.epoch),
            subscription=self._subscription,
            owned=None if is_reconciling else self._acknowledged,
            sent=self._sent,
        )
        if self.state is _S.ACKNOWLEDGING:
            is_done = self._target == self._acknowledged
            self.state = _S.STABLE if is_done else _S.RECONCILING
        self._in_flight = request
        self._effects.append(SendRequest(request))

    def _reconcile(self, now_ms: float) -> None:
        """Bring the owned partitions to the target, as far as its topics have names."""
        if self.state is not _S.RECONCILING or self._reconciled is not None or self._rebalances:
            return
        missing = unknown_ids(self._target, self._names)
        if missing:
            self._effects.append(ResolveTopicIds(missing))
        resolved = frozenset(each for each in self._target if each.topic_id in self._names)
        if missing and resolved == self._acknowledged:
            return
        pairs = ((self._names[each.topic_id], each.number) for each in resolved)
        assigned = frozenset(partitions_of(pairs))
        self._reconciled = resolved
        revoked, kept = self.owned - assigned, self.owned & assigned
        added = Rebalance(RebalanceKind.ASSIGNED, assigned - kept, assigned)
        if revoked:
            self._begin(Rebalance(RebalanceKind.REVOKED, revoked, kept), added)
        elif added.partitions or self._sent.owned is None or not self._acknowledged:
            self._begin(added)
        else:
            self._acknowledged, self._reconciled = resolved, None
            self.state, self._heartbeat_ms = _S.ACKNOWLEDGING, now_ms

    def _lose(self, now_ms: float) -> None:
        """Give up all partitions; then join again, with the same member id."""
        self._target = self._acknowledged = frozenset()
        self._reconciled = None
        if self.owned:
            self._begin(Rebalance(RebalanceKind.LOST, self.owned, _NONE))
        elif self.state is not _S.STALE or self._poll_deadline_ms is None:
            self._join(now_ms)

    def _fail(self, error: KafkaError) -> None:
        self.state, self.epoch = _S.ENDED, JOIN_EPOCH
        self._heartbeat_ms = self._poll_deadline_ms = self._reconciled = None
        if self._rebalances:
            left = self._rebalances[0].owned_after
            self._rebalances = deque([self._rebalances[0]])
            if left:
                self._rebalances.append(Rebalance(RebalanceKind.LOST, left, _NONE))
        elif self.owned:
            self._begin(Rebalance(RebalanceKind.LOST, self.owned, _NONE))
        self._effects.append(MembershipError(error, is_final=True))

    def _leave_group(self) -> None:
        if self._leave_epoch is None:
            self._end()
        else:
            self._send_leave(self._leave_epoch)

    def _send_leave(self, epoch: int) -> None:
        self.epoch = epoch
        self._in_flight = ConsumerGroupHeartbeatRequest(
            group_id=self._config.group_id,
            member_id=self._member_id,
            member_epoch=epoch,
            instance_id=self._config.instance_id,
        )
        self._effects.append(SendRequest(self._in_flight))

    def _answered_while_leaving(self, *, epoch: int) -> None:
        """Handle the answer to the leave, or to an earlier heartbeat.

        After an earlier one the member still commits, and then leaves.
        """
        if self.epoch < 0:
            self._end()
        else:
            self.epoch = epoch

    def _end(self) -> None:
        self.state, self.epoch = _S.ENDED, JOIN_EPOCH
        self._effects.append(MembershipEnded())
