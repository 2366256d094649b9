"""One partition of `__consumer_offsets` (Kafka: `GroupCoordinatorShard`).

    record types     0, 1 committed offsets    2 classic groups    3 to 8, 16 consumer groups
    timers           by the first word of the key
    topics           a deleted topic ends its committed offsets

Records of other types are skipped: share groups and streams groups have the same topic.

A group is a classic one or a consumer group, and may become the other kind. Requests of the classic
protocol go to a consumer group only while it has members: an empty one becomes classic by a join.

A request with groups of several partitions is divided by the handler: a shard gets its own groups.
Authorization, the limits of the whole request and the version of an error are the handler's too.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.coordinator_record import StoredMarker, StoredRecord
from cordwood.coordination.groups.classic.classic_group import GROUP_METADATA_TYPE, ClassicGroup
from cordwood.coordination.groups.classic.classic_group_responses import join_error
from cordwood.coordination.groups.classic.classic_groups import ClassicGroups
from cordwood.coordination.groups.classic.join_attempt import MOST_PROTOCOLS
from cordwood.coordination.groups.consumer import member_timers
from cordwood.coordination.groups.consumer.consumer_group_configs import ConsumerGroupConfigs
from cordwood.coordination.groups.consumer.consumer_group_manager import ConsumerGroupManager
from cordwood.coordination.groups.consumer.group.consumer_group_description import MembersLater
from cordwood.coordination.groups.consumer.group.consumer_group_replay import RECORD_TYPES
from cordwood.coordination.groups.consumer.group.subscriptions import ResolvedRegularExpression
from cordwood.coordination.groups.consumer.topics.regex_resolution import RegexResolution
from cordwood.coordination.groups.group import Group, OffsetCommitter
from cordwood.coordination.groups.group_registry import GroupFilter, GroupPage, GroupRegistry
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.offsets.committed_offset import OFFSET_COMMIT_TYPES
from cordwood.coordination.offsets.committed_run import CommittedRun
from cordwood.coordination.offsets.offset_metadata_manager import (
    OFFSETS_TIMER,
    OffsetMetadataManager,
)
from cordwood.coordination.outcome import (
    Answer,
    CoordinatorEvent,
    Outcome,
    Ticket,
    TimerChange,
    TimerKey,
    counted,
)
from cordwood.coordination.topic_view import TopicView
from cordwood.core.errors import InconsistentGroupProtocolError, KafkaError
from cordwood.core.ports import Random
from cordwood.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from cordwood.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from cordwood.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from cordwood.protocol.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from cordwood.protocol.messages.heartbeat import HeartbeatRequest
from cordwood.protocol.messages.internal import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from cordwood.protocol.messages.join_group import JoinGroupRequest
from cordwood.protocol.messages.leave_group import LeaveGroupRequest
from cordwood.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from cordwood.protocol.messages.offset_commit import OffsetCommitRequest
from cordwood.protocol.messages.offset_delete import OffsetDeleteRequest
from cordwood.protocol.messages.offset_fetch import OffsetFetchRequest
from cordwood.protocol.messages.sync_group import SyncGroupRequest
from cordwood.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest

#: Offsets of groups that the event loop deletes itself: about 2 ms.
LIGHT_OFFSETS: Final = 500


class GroupShard:
    """All groups of one partition."""

    def __init__(
        self,
        settings: GroupSettings | None = None,
        *,
        random: Random,
        configs: ConsumerGroupConfigs | None = None,
    ) -> None:
        settings = settings or GroupSettings()
        configs = configs or ConsumerGroupConfigs(settings)
        self.groups = GroupRegistry()
        self._classic = ClassicGroups(self.groups, settings, random=random)
        self._consumer = ConsumerGroupManager(
            self.groups, configs, classic=self._classic, random=random
        )
        self._offsets = OffsetMetadataManager(
            self.groups, settings, keep_session=self._keep_session
        )

    @property
    def configs(self) -> ConsumerGroupConfigs:
        """The configurations of groups (resource type 32)."""
        return self._consumer.configs

    # -- requests of members

    def join_group(
        self, request: JoinGroupRequest, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> Outcome:
        """Let a member of the classic protocol join; an empty consumer group becomes classic."""
        if len(request.protocols) > MOST_PROTOCOLS:
            code, version = InconsistentGroupProtocolError.code, client.api_version
            response = join_error(code, request.member_id, version=version)
            return Outcome.answer(ticket, response)
        if self._consumer.takes(request.group_id):
            return self._consumer.join_group(request, client, ticket=ticket, now_ms=now_ms)
        before = self.groups.by_id.get(request.group_id)
        released = self._consumer.release_empty(request.group_id)
        joined = self._classic.join_group(request, client, ticket=ticket, now_ms=now_ms)
        if before is None or not released.records:
            return joined
        if not joined.records:
            self.groups.put(before)
            return joined
        released.add(joined)
        released.add(Outcome(on_failure=partial(self._put_back, before)))
        return released

    def sync_group(
        self, request: SyncGroupRequest, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> Outcome:
        """Give a member of the classic protocol its assignment."""
        if self._consumer.takes(request.group_id):
            return self._consumer.sync_group(request, ticket=ticket, now_ms=now_ms)
        return self._classic.sync_group(request, client, ticket=ticket, now_ms=now_ms)

    def heartbeat(
        self, request: HeartbeatRequest, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> Outcome:
        """Keep the session of a member of the classic protocol."""
        if self._consumer.takes(request.group_id):
            return self._consumer.heartbeat(request, ticket=ticket, now_ms=now_ms)
        return self._classic.heartbeat(request, client, ticket=ticket, now_ms=now_ms)

    def leave_group(
        self, request: LeaveGroupRequest, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> Outcome:
        """Remove members of either protocol."""
        if self._consumer.takes(request.group_id):
            return self._consumer.leave_group(request, client, ticket=ticket, now_ms=now_ms)
        return self._classic.leave_group(request, client, ticket=ticket, now_ms=now_ms)

    def consumer_group_heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        client: ClientContext,
        *,
        ticket: Ticket,
        now_ms: int,
    ) -> Outcome:
        """Let a member of the consumer protocol join, stay or leave."""
        return self._consumer.consumer_group_heartbeat(
            request, client, ticket=ticket, now_ms=now_ms
        )

    # -- requests about groups

    def consumer_group_describe(  # tidy: allow[parameters] `later` is not in the request
        self,
        request: ConsumerGroupDescribeRequest,
        _: ClientContext,
        *,
        ticket: Ticket,
        now_ms: int,
        later: MembersLater | None = None,
    ) -> Outcome:
        """Describe consumer groups; `later` gets the members of each one that exists."""
        del now_ms
        groups = [self._consumer.describe(each, later=later) for each in request.group_ids]
        return Outcome.answer(ticket, ConsumerGroupDescribeResponse(groups=groups))

    def describe_groups(
        self, request: DescribeGroupsRequest, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> Outcome:
        """Describe classic groups."""
        del now_ms
        groups = [self._classic.describe(each, client) for each in request.groups]
        return Outcome.answer(ticket, DescribeGroupsResponse(groups=groups))

    def group_ids(self) -> list[str]:
        """Return the ids of all groups."""
        return [*self.groups.by_id]

    def list_groups(  # tidy: allow[parameters] the page is not in the request
        self,
        request: ListGroupsRequest,
        _: ClientContext,
        *,
        ticket: Ticket,
        now_ms: int,
        page: GroupPage | None = None,
    ) -> Outcome:
        """List the groups that match the filters, all or those of a page."""
        del now_ms
        if page is None:
            filters = GroupFilter.of(request.states_filter, request.types_filter)
            page = GroupPage(filters, self.group_ids())
        groups = self.groups.listed(page)
        return Outcome.answer(ticket, ListGroupsResponse(error_code=0, groups=groups))

    def delete_groups(
        self, request: DeleteGroupsRequest, _: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> Outcome:
        """Delete empty groups with their offsets; a group that is named twice counts once."""
        del now_ms
        delete = partial(self._deleted, request, ticket)
        offsets = sum(map(self._offsets.count_offsets, request.group_names))
        return delete() if offsets <= LIGHT_OFFSETS else Outcome(rest=delete)

    def _deleted(self, request: DeleteGroupsRequest, ticket: Ticket) -> Outcome:
        outcome, results = Outcome(), list[DeletableGroupResult]()
        for group_id in dict.fromkeys(request.group_names):
            try:
                group = self.groups.get(group_id)
                group.validate_delete()
            except KafkaError as error:
                results.append(DeletableGroupResult(group_id=group_id, error_code=error.code))
                continue
            offsets = self._offsets.tombstones_of(group_id)
            outcome.records += offsets + group.tombstones()
            outcome.events += counted(CoordinatorEvent.OFFSETS_OF_GROUP_DELETED, offsets)
            results.append(DeletableGroupResult(group_id=group_id, error_code=0))
        outcome.answers.append(Answer(ticket, DeleteGroupsResponse(results=results)))
        return outcome

    # -- requests about offsets

    def offset_commit(
        self, request: OffsetCommitRequest, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> Outcome:
        """Commit offsets."""
        return self._offsets.commit(request, client, ticket=ticket, now_ms=now_ms)

    def txn_offset_commit(
        self, request: TxnOffsetCommitRequest, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> Outcome:
        """Commit offsets in a transaction, to which the caller has added this partition."""
        return self._offsets.commit_transactional(request, client, ticket=ticket, now_ms=now_ms)

    def offset_fetch(
        self,
        request: OffsetFetchRequest,
        client: ClientContext,
        *,
        ticket: Ticket,
        now_ms: int,
        is_part_of_all: bool = False,
    ) -> Outcome:
        """Return committed offsets; the topics may be a part of all that a group has."""
        del now_ms
        version = client.api_version
        response = self._offsets.fetch(request, version, is_part_of_all=is_part_of_all)
        return Outcome.answer(ticket, response)

    def committed_partitions(self, group_id: str) -> dict[str, list[int]]:
        """Return the partitions of a group that have a committed offset, by topic."""
        return self._offsets.committed_partitions(group_id)

    def offset_delete(
        self, request: OffsetDeleteRequest, _: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> Outcome:
        """Delete committed offsets."""
        del now_ms
        return self._offsets.delete(request, ticket=ticket)

    # -- the state

    def count_offsets(self, group_id: str) -> int:
        """Return the number of committed offsets of a group."""
        return self._offsets.count_offsets(group_id)

    def replay(self, stored: StoredRecord) -> None:
        """Change the state by a record that the log has; unknown types change nothing."""
        kind = stored.record.type
        key, value = stored.record.key, stored.record.value
        if kind in OFFSET_COMMIT_TYPES:
            assert isinstance(key, OffsetCommitKey), f"the key of an offset, not {key!r}"
            if isinstance(value, OffsetCommitValue):
                # An offset without a group makes a simple group, which has no record of its own.
                self._classic.simple_group(key.group, now_ms=value.commit_timestamp)
            self._offsets.replay(stored)
        elif kind == GROUP_METADATA_TYPE:
            assert isinstance(key, GroupMetadataKey), f"the key of a group, not {key!r}"
            assert value is None or isinstance(value, GroupMetadataValue), f"not a group: {value!r}"
            self._classic.replay(key.group, value)
        elif kind in RECORD_TYPES:
            self._consumer.replay(stored.record)

    def replay_run(self, run: CommittedRun) -> None:
        """Change the state by commits that the log has, as by a record of each of them."""
        self._classic.simple_group(run.group_id, now_ms=run.first_ms)
        self._offsets.replay_run(run)

    def replay_marker(self, stored: StoredMarker) -> None:
        """Change the state by the end of a transaction."""
        self._offsets.replay_marker(stored)

    def finish_load(self, now_ms: int) -> Outcome:
        """Begin the sessions of loaded members, and the checks for expired offsets."""
        outcome = self._classic.finish_load(now_ms)
        outcome.add(self._consumer.finish_load(now_ms))
        outcome.add(self._offsets.finish_load(now_ms))
        return outcome

    def on_timer(self, key: TimerKey, now_ms: int) -> Outcome:
        """Return the outcome of a timer that is due."""
        if key[0] == OFFSETS_TIMER:
            return self._offsets.on_timer(key, now_ms)
        if key[0] in member_timers.KINDS:
            return self._consumer.on_timer(key, now_ms)
        return self._classic.on_timer(key, now_ms)

    def on_topics(self, view: TopicView, now_ms: int) -> Outcome:
        """Take the topics of the cluster."""
        self._consumer.on_topics(view)
        return self._offsets.on_topics(view, now_ms)

    def take_due_resolutions(self) -> list[RegexResolution]:
        """Return the resolutions of regular expressions to run, each once."""
        return self._consumer.take_due_resolutions()

    def on_regexes_resolved(
        self, group_id: str, resolved: Mapping[str, ResolvedRegularExpression], *, now_ms: int
    ) -> Outcome:
        """Take the topics of a group's regular expressions; none if the resolution failed."""
        return self._consumer.on_regexes_resolved(group_id, resolved, now_ms=now_ms)

    def close(self, error: KafkaError) -> Outcome:
        """Answer all requests that wait."""
        return self._classic.close(error)

    def _put_back(self, group: Group, _error: KafkaError, _now_ms: int) -> Outcome:
        """Put a consumer group back whose conversion is not in the log."""
        self.groups.put(group)
        return Outcome()

    def _keep_session(
        self, committer: OffsetCommitter, group_id: str, now_ms: int
    ) -> list[TimerChange]:
        group = self.groups.by_id.get(group_id)
        if not isinstance(group, ClassicGroup) or not group.members:
            return []
        return self._classic.keep_session(group, committer.member_id, now_ms=now_ms).timers
