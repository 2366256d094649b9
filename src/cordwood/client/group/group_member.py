"""Background task that performs the effects of a membership (Java: `ConsumerNetworkThread`).

It sends requests to the coordinator, keeps the membership's times, and observes the metadata. A
rebalance waits in `due` for the next call of the consumer's user.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

from cordwood.client.group.group_coordinator import GroupCoordinator
from cordwood.client.group.membership import (
    Effect,
    LoadTopics,
    Membership,
    MembershipEnded,
    MembershipError,
    Rebalance,
    ResolveTopicIds,
    SendRequest,
)
from cordwood.client.group.topic_subscription import TopicSubscription
from cordwood.client.network.cluster import Cluster
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.owned_tasks import WakeupSignal
from cordwood.client.network.response_errors import error_of
from cordwood.client.network.runtime import completion_of
from cordwood.core.errors import (
    FencedInstanceIdError,
    GroupAuthorizationFailedError,
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
    InconsistentGroupProtocolError,
    InvalidSessionTimeoutError,
    KafkaError,
    UnknownTopicOrPartitionError,
    UnreleasedInstanceIdError,
    UnsupportedVersionError,
)
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from cordwood.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from cordwood.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from cordwood.protocol.schema import Request, Response

_RESPONSES: Final[Mapping[type[Request], type[Response]]] = {
    JoinGroupRequest: JoinGroupResponse,
    SyncGroupRequest: SyncGroupResponse,
    HeartbeatRequest: HeartbeatResponse,
    LeaveGroupRequest: LeaveGroupResponse,
    ConsumerGroupHeartbeatRequest: ConsumerGroupHeartbeatResponse,
}
_REMEDIES: Final[Mapping[type[KafkaError], str]] = {
    FencedInstanceIdError: "another consumer has the same group_instance_id; give each its own",
    UnreleasedInstanceIdError: "another consumer has the same group_instance_id; close it first, or"
    " give each its own",
    GroupAuthorizationFailedError: "grant READ on the group to the client's principal",
    GroupIdNotFoundError: "the group has the other protocol; set group_protocol accordingly",
    GroupMaxSizeReachedError: "close other members, or raise group.max.size of the brokers",
    InconsistentGroupProtocolError: "give all members an assignor in common, in"
    " partition_assignment_strategy",
    InvalidSessionTimeoutError: "keep session_timeout_ms between group.min.session.timeout.ms and"
    " group.max.session.timeout.ms of the brokers",
    UnsupportedVersionError: "set group_protocol='classic', or upgrade the brokers",
}


class GroupMember:
    """The member of one consumer; `arrived` wakes its user's call."""

    def __init__(
        self,
        client: NetworkClient,
        coordinator: GroupCoordinator,
        membership: Membership,
        *,
        group_id: str,
        arrived: WakeupSignal,
    ) -> None:
        self.membership = membership
        self.due: deque[Rebalance] = deque()
        self._client = client
        self._coordinator = coordinator
        self._group_id = group_id
        self._arrived = arrived
        self._error: MembershipError | None = None
        self._woken = WakeupSignal(client.runtime)
        self._cluster: Cluster | None = None
        #: Requests that the coordinator may hold back, or whose coordinator is not found yet.
        self._held_requests = set[asyncio.Task[None]]()
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = client.tasks.start(self._run())

    # Calls of the consumer.

    def subscribe(self, subscription: TopicSubscription) -> None:
        """Join with a subscription, or change it."""
        self.membership.subscribe(subscription, self._now_ms())
        self._perform()

    def poll(self) -> None:
        """Let a rebalance begin, and raise the error of the membership if there is one."""
        error = self._error
        if error is not None and not self.due:
            if not error.is_final:
                self._error = None
            raise error.error
        self.membership.on_poll(self._now_ms())
        self._perform()

    def end_poll(self) -> None:
        """Start the time until the next poll."""
        self.membership.on_poll_end(self._now_ms())
        self._woken.set()

    @property
    def needs_user(self) -> bool:
        """Whether the user's call has to do something before it returns records."""
        return bool(self.due) or self._error is not None or self.membership.needs_poll

    def complete(self) -> None:
        """Handle the end of the first due rebalance."""
        self.due.popleft()
        self.membership.on_rebalanced(self._now_ms())
        self._perform()

    def observe_metadata(self) -> None:
        """Handle new metadata, if they are new."""
        cluster = self._client.cluster
        if cluster is self._cluster:
            return
        self._cluster = cluster
        self.membership.on_metadata(_counts(cluster), self._now_ms())
        self._perform()

    async def leave(
        self,
        run_due: Callable[[], Awaitable[None]],
        *,
        is_leaving_group: bool | None,
        timeout_ms: float,
    ) -> None:
        """Leave the group; `run_due` performs the first due rebalance.

        After the timeout the session timeout ends the membership.
        """
        if self._held_requests:
            self._coordinator.disconnect()  # the broker answers LeaveGroup after the held request
            for each in self._held_requests:
                each.cancel()  # one that is not sent yet would join the group again
        self.membership.leave(self._now_ms(), is_leaving_group=is_leaving_group)
        self._perform()
        try:
            await self._run_all(run_due)
        finally:
            with suppress(TimeoutError):
                await self._client.runtime.run_with_timeout(
                    timeout_ms, completion_of(self._ended), timeout_error=TimeoutError
                )
            self._task.cancel()

    async def _run_all(self, run_due: Callable[[], Awaitable[None]]) -> None:
        """Perform all due rebalances, also after an error of a callback."""
        try:
            if self.due:
                await run_due()
        finally:
            if self.due:
                await self._run_all(run_due)

    # Internals.

    def _now_ms(self) -> float:
        return self._client.runtime.now_ms()

    async def _run(self) -> None:
        while True:
            self.membership.on_time(self._now_ms())
            self._perform_effects()
            await self._woken.wait(self.membership.wake_at_ms)

    def _perform(self) -> None:
        self._perform_effects()
        self._woken.set()

    def _perform_effects(self) -> None:
        for effect in self.membership.take_effects():
            self._perform_one(effect)
        if self.needs_user:
            self._arrived.set()

    def _perform_one(self, effect: Effect) -> None:
        match effect:
            case SendRequest(request):
                sending = self._client.tasks.start(self._send(effect))
                if isinstance(request, (JoinGroupRequest, SyncGroupRequest)):
                    self._held_requests.add(sending)
                    sending.add_done_callback(self._held_requests.discard)
            case Rebalance():
                self.due.append(effect)
            case LoadTopics(topics):
                self._client.tasks.start(self._load(topics))
            case ResolveTopicIds(topic_ids):
                self._client.tasks.start(self._resolve(topic_ids))
            case MembershipError():
                self._error = effect
            case MembershipEnded():
                if not self._ended.done():
                    self._ended.set_result(None)

    async def _send(self, effect: SendRequest) -> None:
        request, member_id = effect.request, ""
        kind = _RESPONSES[type(request)]
        try:
            response = await self._coordinator.send(request, kind, timeout_ms=effect.timeout_ms)
            member_id = getattr(response, "member_id", "") or ""
            self._ensure_success(response)
            self.membership.on_response(request, response, now_ms=self._now_ms())
        except UnsupportedVersionError as error:
            reason = f"group {self._group_id!r}: {error}; {_REMEDIES[UnsupportedVersionError]}"
            unsupported = UnsupportedVersionError(reason)
            self.membership.on_error(request, unsupported, now_ms=self._now_ms())
        except KafkaError as error:
            self.membership.on_error(request, error, now_ms=self._now_ms(), member_id=member_id)
        self._perform()

    def _ensure_success(self, response: Response) -> None:
        code: int = getattr(response, "error_code", 0)
        if not code:
            return
        member_id = self.membership.identity.member_id
        subject = f"group {self._group_id!r}" + (f", member {member_id!r}" if member_id else "")
        message = getattr(response, "error_message", None)
        remedy = _REMEDIES.get(type(error_of(code, subject=subject)), "")
        error = error_of(code, subject=subject, message=message, remedy=remedy)
        self._coordinator.handle_error(error)
        raise error

    async def _load(self, topics: frozenset[str]) -> None:
        """Return the partition counts of the group's topics to its leader."""
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=each) for each in sorted(topics)],
            allow_auto_topic_creation=False,
        )
        response: MetadataResponse | None = None
        while response is None:
            try:
                response = await self._client.send_to_any(request, MetadataResponse)
            except KafkaError:
                await self._client.runtime.sleep_ms(self._client.settings.retry_backoff_ms)
        counts = {each.name: len(each.partitions) for each in response.topics if each.name}
        self.membership.on_partition_counts(counts, self._now_ms())
        self._client.refresh_soon()  # it tracks the topics from now on
        self._perform()

    async def _resolve(self, topic_ids: frozenset[Uuid]) -> None:
        request = MetadataRequest(
            topics=[MetadataRequestTopic(topic_id=each, name=None) for each in sorted(topic_ids)],
            allow_auto_topic_creation=False,
        )
        try:
            response = await self._client.send_to_any(request, MetadataResponse)
        except KafkaError:
            return  # the next heartbeat repeats the effect
        names = {each.topic_id: each.name for each in response.topics if each.name}
        self.membership.on_topic_names(names, self._now_ms())
        self._perform()


def _counts(cluster: Cluster) -> dict[str, int]:
    """Return the partition counts of the known topics, 0 for one that does not exist."""
    return {
        name: len(topic.partitions)
        for name, topic in cluster.topics.items()
        if topic.error_code in {0, UnknownTopicOrPartitionError.code}
    }
