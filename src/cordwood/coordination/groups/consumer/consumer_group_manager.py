"""Consumer groups of one shard (Kafka: the `consumerGroup` methods of `GroupMetadataManager`).

Requests that members of both protocols send (JoinGroup, SyncGroup, Heartbeat, LeaveGroup) are
passed here if their group is a consumer group; `takes` decides it.

Regular expressions are resolved outside: the runtime takes what is due after each event, calls
`resolve` of it, on a worker if it likes, and gives the result to `on_regexes_resolved`.
"""

from collections.abc import Iterable, Mapping

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.classic.classic_group_leave import leaving_members
from cordwood.coordination.groups.classic.classic_group_responses import join_error, sync_error
from cordwood.coordination.groups.classic.classic_groups import ClassicGroups
from cordwood.coordination.groups.consumer import classic_member_requests, event_weight
from cordwood.coordination.groups.consumer.classic_member_join import join_group
from cordwood.coordination.groups.consumer.consumer_group_configs import ConsumerGroupConfigs
from cordwood.coordination.groups.consumer.consumer_group_state import ConsumerGroupShardState
from cordwood.coordination.groups.consumer.group import consumer_group_records as records
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_description import (
    MembersLater,
    described,
    not_described,
)
from cordwood.coordination.groups.consumer.group.consumer_group_member import MemberState
from cordwood.coordination.groups.consumer.group.consumer_group_replay import replay
from cordwood.coordination.groups.consumer.group.subscriptions import ResolvedRegularExpression
from cordwood.coordination.groups.consumer.heartbeats import heartbeat
from cordwood.coordination.groups.consumer.member_fencing import fence_members
from cordwood.coordination.groups.consumer.member_timers import session_timer
from cordwood.coordination.groups.consumer.topics.regex_resolution import RegexResolution
from cordwood.coordination.groups.consumer.topics.topic_changes import has_new_topics
from cordwood.coordination.groups.group_registry import GroupRegistry
from cordwood.coordination.outcome import CoordinatorEvent, EventCount, Outcome, Ticket, TimerKey
from cordwood.coordination.topic_view import TopicView
from cordwood.core.errors import (
    GroupIdNotFoundError,
    InvalidSessionTimeoutError,
    KafkaError,
)
from cordwood.core.ports import Random
from cordwood.protocol.messages.consumer_group_describe import DescribedGroup
from cordwood.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.join_group import JoinGroupRequest
from cordwood.protocol.messages.leave_group import LeaveGroupRequest
from cordwood.protocol.messages.sync_group import SyncGroupRequest


class ConsumerGroupManager:
    """The requests, records, timers and topics of consumer groups."""

    def __init__(
        self,
        registry: GroupRegistry,
        configs: ConsumerGroupConfigs,
        *,
        classic: ClassicGroups,
        random: Random,
    ) -> None:
        self._state = ConsumerGroupShardState(registry, configs, classic=classic, random=random)

    @property
    def configs(self) -> ConsumerGroupConfigs:
        """The configurations of groups."""
        return self._state.configs

    def takes(self, group_id: str) -> bool:
        """Return whether requests of the classic protocol are for a consumer group with members."""
        group = self._state.registry.by_id.get(group_id)
        return isinstance(group, ConsumerGroup) and not group.is_empty

    # -- requests

    def consumer_group_heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        client: ClientContext,
        *,
        ticket: Ticket,
        now_ms: int,
    ) -> Outcome:
        """Let a member join, stay or leave."""

        def beat() -> Outcome:
            try:
                return heartbeat(self._state, request, client=client, ticket=ticket, now_ms=now_ms)
            except KafkaError as error:
                return Outcome.answer(ticket, error)

        is_long = event_weight.is_long_heartbeat(self._state, request, now_ms=now_ms)
        return Outcome(rest=beat) if is_long else beat()

    def describe(self, group_id: str, *, later: MembersLater | None = None) -> DescribedGroup:
        """Describe one group of a ConsumerGroupDescribe request; with `later` without members."""
        state = self._state
        try:
            group = state.group(group_id)
        except GroupIdNotFoundError as error:
            return not_described(group_id, error)
        assignor = state.settings.consumer_assignors[0]
        return described(group, state.view, default_assignor=assignor, later=later)

    def join_group(
        self, request: JoinGroupRequest, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> Outcome:
        """Let a member of the classic protocol join."""
        settings, timeout_ms = self._state.settings, request.session_timeout_ms
        if not settings.min_session_timeout_ms <= timeout_ms <= settings.max_session_timeout_ms:
            code, member_id = InvalidSessionTimeoutError.code, request.member_id
            return Outcome.answer(ticket, join_error(code, member_id, version=client.api_version))

        def join() -> Outcome:
            try:
                group = self._state.group(request.group_id)
                return join_group(
                    self._state, group, request=request, client=client, ticket=ticket, now_ms=now_ms
                )
            except KafkaError as error:
                return Outcome.answer(ticket, join_error(error.code, version=client.api_version))

        is_long = event_weight.is_long_join(self._state, request, now_ms=now_ms)
        return Outcome(rest=join) if is_long else join()

    def sync_group(self, request: SyncGroupRequest, *, ticket: Ticket, now_ms: int) -> Outcome:
        """Give a member of the classic protocol its assignment."""
        try:
            group = self._state.group(request.group_id)
            return classic_member_requests.sync_group(
                self._state, group, request=request, ticket=ticket, now_ms=now_ms
            )
        except KafkaError as error:
            return Outcome.answer(ticket, sync_error(error.code))

    def heartbeat(self, request: HeartbeatRequest, *, ticket: Ticket, now_ms: int) -> Outcome:
        """Keep a member of the classic protocol."""
        try:
            group = self._state.group(request.group_id)
            return classic_member_requests.classic_heartbeat(
                self._state, group, request=request, ticket=ticket, now_ms=now_ms
            )
        except KafkaError as error:
            return Outcome.answer(ticket, HeartbeatResponse(error_code=error.code))

    def leave_group(
        self, request: LeaveGroupRequest, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> Outcome:
        """Remove members of both protocols."""
        version = client.api_version
        return classic_member_requests.leave_group(
            self._state,
            self._state.group(request.group_id),
            members=leaving_members(request, version=version),
            version=version,
            ticket=ticket,
            now_ms=now_ms,
        )

    def release_empty(self, group_id: str) -> Outcome:
        """Take an empty group out of the registry, for a JoinGroup request of a classic member."""
        group = self._state.registry.by_id.get(group_id)
        if not isinstance(group, ConsumerGroup) or not group.is_empty:
            return Outcome()
        self._state.registry.remove(group)
        return Outcome(records=group.tombstones())

    # -- events

    def on_timer(self, key: TimerKey, now_ms: int) -> Outcome:
        """Fence the member of a timer whose kind is in `member_timers.KINDS`."""
        _, group_id, member_id = key
        group = self._state.registry.by_id.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        epoch = 0 if member is None else member.member_epoch
        is_fenced = self._state.timers.expire(key, member_epoch=epoch)
        if not isinstance(group, ConsumerGroup) or member is None or not is_fenced:
            return Outcome()
        return fence_members(self._state, group, members=[member], now_ms=now_ms)

    def on_topics(self, view: TopicView) -> None:
        """Take another view of all topics: groups compare theirs at the next heartbeat."""
        state, before = self._state, self._state.view
        groups = self._groups()
        has_regexes = any(each.subscriptions.resolved for each in groups)
        changed = view.changed(before)
        if before.version < 0 or not has_regexes or has_new_topics(changed, before, after=view):
            state.regexes.topics_created_version = view.version
        for group in groups:
            if group.subscriptions.has_any(changed):
                group.checked_epoch = None
        state.view = view
        state.hashes.forget_deleted(changed, view)

    def take_due_resolutions(self) -> list[RegexResolution]:
        """Return the resolutions of regular expressions to run, each once."""
        return self._state.regexes.take_due()

    def on_regexes_resolved(
        self, group_id: str, resolved: Mapping[str, ResolvedRegularExpression], *, now_ms: int
    ) -> Outcome:
        """Write the topics of expressions that are still subscribed; none if the run failed."""
        del now_ms  # the records have the time at which the resolution began
        self._state.regexes.ended(group_id)
        group = self._state.registry.by_id.get(group_id)
        if not isinstance(group, ConsumerGroup):
            return Outcome()
        outcome, subscriptions = Outcome(), group.subscriptions.copy()
        raises_epoch = False
        for regex, found in resolved.items():
            if not subscriptions.regexes[regex]:
                continue
            known = subscriptions.resolved.get(regex)
            raises_epoch |= found.topics != (frozenset() if known is None else known.topics)
            subscriptions.resolved[regex] = found
            record = records.regular_expression(group_id, regex, resolved=found)
            outcome.records.append(record)
        metadata_hash = self._state.metadata_hash(subscriptions)
        if raises_epoch or metadata_hash != group.metadata_hash:
            epoch = group.group_epoch + 1
            record = records.group_epoch(group_id, epoch, metadata_hash=metadata_hash)
            outcome.records.append(record)
            outcome.events += (EventCount(CoordinatorEvent.CONSUMER_REBALANCE),)
            group.checked_epoch = epoch
        return outcome

    # -- the shard

    def replay(self, record: CoordinatorRecord) -> None:
        """Change the state by a record whose type is in `RECORD_TYPES`."""
        replay(self._state.registry, record)

    def finish_load(self, now_ms: int) -> Outcome:
        """Begin the sessions of all members, and the rebalance timers of those that revoke."""
        outcome = Outcome()
        for group in self._groups():
            timeout_ms = self._state.configs.session_timeout_ms(group.group_id)
            for member in group.members.values():
                at_ms = now_ms + timeout_ms
                outcome.timers.append(session_timer(group.group_id, member.member_id, at_ms=at_ms))
                if member.state is not MemberState.UNREVOKED_PARTITIONS:
                    continue
                rebalance = self._state.timers.rebalance(
                    group.group_id,
                    member.member_id,
                    epoch=member.member_epoch,
                    at_ms=now_ms + member.rebalance_timeout_ms,
                )
                outcome.timers.append(rebalance)
        return outcome

    def _groups(self) -> list[ConsumerGroup]:
        found: Iterable[object] = self._state.registry
        return [each for each in found if isinstance(each, ConsumerGroup)]
