"""A consumer's part in its group: subscription, callbacks and commits (Java: `ConsumerDelegate`).

A change of the owned partitions happens in a call of the consumer's user:

    assigned    the partitions are assigned, then `on_assigned` is called, and may seek
    revoked     offsets are committed, `on_revoked` is called, then the partitions are dropped
    lost        `on_lost`, by default `on_revoked`, is called, then the partitions are dropped

An error of a callback is raised by the call, after the change is complete. A callback may commit
and seek. It cannot poll, unsubscribe or close the consumer, because the change is not complete.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from inspect import isawaitable
from typing import NamedTuple, TypeAlias

from cordwood.client.consumer.auto_commit import AutoCommit
from cordwood.client.consumer.subscription_state import SubscriptionState
from cordwood.client.consumer.topic_observer import TopicObserver
from cordwood.client.group.assignors.assignor_table import assignors_of
from cordwood.client.group.classic_membership import ClassicMembership
from cordwood.client.group.consumer_membership import ConsumerMembership
from cordwood.client.group.group_coordinator import GroupCoordinator
from cordwood.client.group.group_member import GroupMember
from cordwood.client.group.group_offsets import GroupOffsets
from cordwood.client.group.membership import MemberIdentity, Membership, Rebalance, RebalanceKind
from cordwood.client.group.membership_config import MembershipConfig
from cordwood.client.group.topic_subscription import TopicSubscription
from cordwood.client.group_offset import GroupMetadata, GroupOffset
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.owned_tasks import WakeupSignal
from cordwood.client.settings import ConsumerSettings
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import CordwoodError, InvalidRequestError, KafkaError
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import format_uuid, make_uuid

RebalanceCallback: TypeAlias = Callable[[list[TopicPartition]], object]
CommitCallback: TypeAlias = Callable[[Mapping[TopicPartition, object], KafkaError | None], object]
#: A next offset, alone or with metadata.
OffsetValue: TypeAlias = int | GroupOffset

#: Default time in which a closing consumer commits and leaves its group.
CLOSE_MS = 30_000


class RebalanceCallbacks(NamedTuple):
    """The user's callbacks, perhaps coroutine functions (Java: `ConsumerRebalanceListener`)."""

    on_assigned: RebalanceCallback | None = None
    on_revoked: RebalanceCallback | None = None
    on_lost: RebalanceCallback | None = None

    def of(self, kind: RebalanceKind) -> RebalanceCallback | None:
        """Return the callback of a kind."""
        if kind is RebalanceKind.ASSIGNED:
            return self.on_assigned
        return self.on_lost if kind is RebalanceKind.LOST and self.on_lost else self.on_revoked


class GroupSubscription:
    """The group of one consumer; `on_change` wakes its fetcher."""

    def __init__(
        self,
        client: NetworkClient,
        settings: ConsumerSettings,
        subscriptions: SubscriptionState,
        *,
        arrived: WakeupSignal,
        on_change: Callable[[], object],
    ) -> None:
        assert settings.group_id is not None, "a consumer without a group has no subscription"
        self.group_id, self.subscription = settings.group_id, TopicSubscription()
        self._client, self._settings = client, settings
        self._subscriptions = subscriptions
        self._arrived, self._on_change = arrived, on_change
        self._coordinator = GroupCoordinator(client, self.group_id)
        self._callbacks = RebalanceCallbacks()
        self._member: GroupMember | None = None
        self._completed: list[Callable[[], object]] = []
        self._commits: set[asyncio.Task[None]] = set()
        self._is_rebalancing = False
        self._observer = TopicObserver(client, settings, subscriptions)
        client.topics.in_use = lambda: self._observer.topics_in_use(self._member)
        self.offsets = self._group_offsets()
        self.offsets.is_subscribed = lambda: self.is_subscribed
        self.auto_commit = AutoCommit(client, settings, self.offsets, subscriptions)

    # Subscriptions.

    @property
    def is_subscribed(self) -> bool:
        """Whether the group assigns the partitions."""
        return self._member is not None

    @property
    def metadata(self) -> GroupMetadata:
        """The group and this member, as transactions need them."""
        member_id, epoch = self._identity()
        instance_id = self._settings.group_instance_id if epoch >= 0 else None
        return GroupMetadata(self.group_id, epoch, member_id, instance_id)

    def subscribe(self, subscription: TopicSubscription, callbacks: RebalanceCallbacks) -> None:
        """Join the group at the next poll, or change the subscription."""
        if self._member is None and len(self._subscriptions):
            raise InvalidRequestError(
                "partitions are assigned by `assign`; call `unsubscribe` before `subscribe`"
            )
        if self._member is None:
            self._member = GroupMember(
                self._client,
                self._coordinator,
                self._membership(),
                group_id=self.group_id,
                arrived=self._arrived,
            )
        self._observer.follow(subscription, self._member)
        self.subscription, self._callbacks = subscription, callbacks

    async def unsubscribe(
        self, *, is_leaving_group: bool | None = None, timeout_ms: float = CLOSE_MS
    ) -> None:
        """Commit, revoke all partitions and leave the group; also ends a manual assignment."""
        self.ensure_no_rebalance()
        self.auto_commit.mark_processed()
        try:
            await self._finish_commits(timeout_ms)
        finally:
            await self._leave(is_leaving_group=is_leaving_group, timeout_ms=timeout_ms)

    async def _leave(self, *, is_leaving_group: bool | None, timeout_ms: float) -> None:
        member = self._member
        try:
            if member is None:
                await self.auto_commit.commit_at_end(timeout_ms)
            else:
                self._observer.stop()
                await member.leave(
                    self._run_rebalance, is_leaving_group=is_leaving_group, timeout_ms=timeout_ms
                )
        finally:
            self._coordinator.disconnect()
            self._member, self.subscription = None, TopicSubscription()
            self._subscriptions.assign(())
            self._on_change()

    def ensure_no_rebalance(self) -> None:
        """Raise InvalidRequestError in a call of a callback, or of another task during one."""
        if self._is_rebalancing:
            raise InvalidRequestError(
                f"group {self.group_id!r}: a rebalance is being completed; its callbacks, and other"
                " tasks during them, cannot poll, unsubscribe or close the consumer"
            )

    # Polls.

    def begin_poll(self) -> None:
        """Handle the begin of a poll: all records returned so far are processed."""
        self.ensure_no_rebalance()
        self.auto_commit.mark_processed()
        if self._member is not None:
            self._member.poll()

    def end_poll(self) -> None:
        """Handle the end of a poll."""
        if self._member is not None:
            self._member.end_poll()

    @property
    def needs_user(self) -> bool:
        """Whether `run_due` has to be called before records are returned."""
        return bool(self._completed) or (self._member is not None and self._member.needs_user)

    async def run_due(self) -> None:
        """Perform the first due change, and raise the error of a callback or of the group."""
        if self._completed:
            await _result(self._completed.pop(0)())
        elif self._member is not None and self._member.due:
            await self._run_rebalance()
        elif self._member is not None:
            self._member.poll()

    def observe_metadata(self) -> None:
        """Handle new metadata of the client."""
        if self._member is not None:
            self._member.observe_metadata()

    # Offsets.

    def offsets_of(
        self, given: Mapping[tuple[str, int], OffsetValue] | None
    ) -> dict[TopicPartition, GroupOffset]:
        """Return offsets of a call with their metadata; by default the positions."""
        if given is None:
            return self.auto_commit.positions()
        values = [
            each if isinstance(each, GroupOffset) else GroupOffset(each) for each in given.values()
        ]
        if any(each.offset < 0 for each in values):
            raise InvalidRequestError("a committed offset is at least 0")
        return dict(zip(partitions_of(given), values, strict=True))

    def commit_soon(
        self, offsets: Mapping[TopicPartition, GroupOffset], callback: CommitCallback | None
    ) -> None:
        """Commit in the background; the callback runs in a later call of the user."""
        task = self._client.tasks.start(self._commit_soon(offsets, callback))
        self._commits.add(task)
        task.add_done_callback(self._commits.discard)

    async def _commit_soon(
        self, offsets: Mapping[TopicPartition, GroupOffset], callback: CommitCallback | None
    ) -> None:
        error = await self.offsets.commit_once(offsets)
        if callback is not None:
            self._completed.append(lambda: callback(offsets, error))
            self._arrived.set()

    async def _finish_commits(self, timeout_ms: float) -> None:
        """Wait for the commits in the background, and run their callbacks."""
        # The set loses the commits that end, perhaps before the wait has begun.
        commits = tuple(self._commits)
        if commits:
            with suppress(TimeoutError):
                await self._client.runtime.run_with_timeout(
                    timeout_ms, asyncio.wait(commits), timeout_error=TimeoutError
                )
        while self._completed:
            await _result(self._completed.pop(0)())

    # Internals.

    async def _run_rebalance(self) -> None:
        self.ensure_no_rebalance()
        self._is_rebalancing = True
        try:
            await self._complete_rebalance()
        finally:
            self._is_rebalancing = False

    async def _complete_rebalance(self) -> None:
        assert self._member is not None, "a rebalance has a member"
        member, rebalance = self._member, self._member.due[0]
        if rebalance.kind is RebalanceKind.ASSIGNED:
            self._assign(rebalance)
        elif rebalance.kind is RebalanceKind.REVOKED:
            await self.auto_commit.commit_at_end(self._settings.default_api_timeout_ms)
        callback = self._callbacks.of(rebalance.kind)
        try:
            if callback is not None:
                await _result(callback(sorted(rebalance.partitions)))
        except CordwoodError as error:
            error.add_note(f"raised in on_{rebalance.kind.value} of group {self.group_id!r}")
            raise
        finally:
            if rebalance.kind is not RebalanceKind.ASSIGNED:
                self._assign(rebalance)
            member.complete()

    def _assign(self, rebalance: Rebalance) -> None:
        self._subscriptions.assign(sorted(rebalance.owned_after))
        self._on_change()

    def _group_offsets(self) -> GroupOffsets:
        return GroupOffsets(
            self._client,
            self._coordinator,
            group_id=self.group_id,
            instance_id=self._settings.group_instance_id,
            identity=self._identity,
            has_epochs=self._settings.group_protocol == "consumer",
        )

    def _identity(self) -> MemberIdentity:
        return MemberIdentity() if self._member is None else self._member.membership.identity

    def _membership(self) -> Membership:
        if self._settings.group_protocol == "classic":
            return ClassicMembership(_config(self._settings), self._client.backoff())
        member_id = format_uuid(make_uuid(self._client.runtime.random))
        return ConsumerMembership(
            _config(self._settings), self._client.backoff(), member_id=member_id
        )


def _config(settings: ConsumerSettings) -> MembershipConfig:
    assert settings.group_id is not None, "a consumer without a group has no membership"
    names: Iterable[str] = settings.partition_assignment_strategy
    return MembershipConfig(
        group_id=settings.group_id,
        instance_id=settings.group_instance_id,
        session_timeout_ms=settings.session_timeout_ms,
        heartbeat_interval_ms=settings.heartbeat_interval_ms,
        max_poll_interval_ms=settings.max_poll_interval_ms,
        request_timeout_ms=settings.request_timeout_ms,
        assignors=assignors_of(names),
        server_assignor=settings.group_remote_assignor,
    )


async def _result(made: object) -> None:
    """Wait for a callback that is a coroutine function."""
    if isawaitable(made):
        await made
