"""Commits and lookups of a group's offsets (Java: `CommitRequestManager`).

A request is retried until the timeout of its call: while the coordinator loads, moves or is
unavailable, and after STALE_MEMBER_EPOCH with the present epoch. A commit in the background is not
retried, because a later one may have succeeded in between. A commit of a member that the group has
given up fails, because another member may own the partitions. An empty group would accept it.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final, TypeVar

from cordwood.client.group.group_coordinator import GroupCoordinator
from cordwood.client.group.membership import MemberIdentity
from cordwood.client.group.offset_messages import (
    commit_errors,
    commit_request,
    fetch_request,
    fetched_offsets,
)
from cordwood.client.group_offset import GroupOffset
from cordwood.client.network.api_call import Attempt
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.response_errors import error_of
from cordwood.client.topic_partitions import by_topic
from cordwood.core.errors import (
    FencedInstanceIdError,
    IllegalGenerationError,
    KafkaError,
    RebalanceInProgressError,
    StaleMemberEpochError,
    UnknownMemberIdError,
    UnstableOffsetCommitError,
)
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.offset_commit import OffsetCommitResponse
from cordwood.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse

T = TypeVar("T")

_REMEDIES: Final[Mapping[type[KafkaError], str]] = {
    UnknownMemberIdError: "the group has given the partitions to other members; poll more often,"
    " raise max_poll_interval_ms, or lower max_poll_records",
    IllegalGenerationError: "the group has rebalanced without this member; poll more often, raise"
    " max_poll_interval_ms, or lower max_poll_records",
    RebalanceInProgressError: "the group rebalances; poll, and commit again",
    FencedInstanceIdError: "another consumer has the same group_instance_id; give each its own",
    UnstableOffsetCommitError: "a producer has left it open; call `init` of a producer with its"
    " transactional_id, which aborts it, or wait for its transaction_timeout_ms",
}


class GroupOffsets:
    """Committed offsets of one group; `identity` returns that of the consumer's membership."""

    def __init__(
        self,
        client: NetworkClient,
        coordinator: GroupCoordinator,
        *,
        group_id: str,
        instance_id: str | None,
        identity: Callable[[], MemberIdentity],
        has_epochs: bool,
    ) -> None:
        self._client = client
        self._coordinator = coordinator
        self._group_id = group_id
        self._instance_id = instance_id
        self._identity = identity
        self._has_epochs = has_epochs
        #: Whether the consumer needs a membership to commit.
        self.is_subscribed: Callable[[], bool] = lambda: False

    async def commit(
        self, offsets: Mapping[TopicPartition, GroupOffset], *, timeout_ms: float | None
    ) -> None:
        """Commit offsets; the error names the partition, the group and the member."""
        await self._client.retry_until_timeout(
            partial(self._retry_stale, partial(self._commit, offsets)),
            timeout_ms=timeout_ms,
            subject=f"commit of group {self._group_id!r}",
        )

    async def commit_once(self, offsets: Mapping[TopicPartition, GroupOffset]) -> KafkaError | None:
        """Commit offsets without a retry; return the error if it fails."""

        async def attempt() -> KafkaError | None:
            try:
                await self._commit(offsets)
            except KafkaError as error:
                return error
            return None

        try:
            return await self._client.retry_until_timeout(
                attempt, subject=f"commit of group {self._group_id!r}"
            )
        except KafkaError as error:
            return error

    async def _commit(self, offsets: Mapping[TopicPartition, GroupOffset]) -> None:
        if not offsets:
            return
        await self._know_topics(offsets)
        identity, cluster = self._identity(), self._client.cluster
        if self.is_subscribed() and identity.epoch < 0:
            self._ensure_success(UnknownMemberIdError.code, identity)
        request = commit_request(
            self._group_id,
            offsets,
            identity=identity,
            instance_id=self._instance_id if identity.epoch >= 0 else None,
            cluster=cluster,
        )
        response = await self._coordinator.send(request, OffsetCommitResponse)
        for partition, code in commit_errors(response, cluster):
            self._ensure_success(code, identity, partition)

    async def committed(
        self,
        partitions: Collection[TopicPartition],
        *,
        requires_stable: bool,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, GroupOffset | None]:
        """Return the committed offset of each partition, None where there is none."""
        if not partitions:
            return {}

        async def attempt() -> dict[TopicPartition, GroupOffset | None]:
            await self._know_topics(partitions)
            identity, cluster = self._identity(), self._client.cluster
            connection = await self._coordinator.connection()
            request = fetch_request(
                self._group_id,
                partitions,
                version=connection.version_of(OffsetFetchRequest),
                identity=identity if self._has_epochs else MemberIdentity(),
                requires_stable=requires_stable,
                cluster=cluster,
            )
            response = await self._coordinator.send(request, OffsetFetchResponse)
            code, found = fetched_offsets(response, cluster)
            self._ensure_success(code, identity)
            for each in found:
                self._ensure_success(each.error_code, identity, each.partition)
            known = {each.partition: each.committed for each in found}
            return {each: known.get(each) for each in partitions}

        return await self._client.retry_until_timeout(
            partial(self._retry_stale, attempt),
            timeout_ms=timeout_ms,
            subject=f"offsets of group {self._group_id!r}",
        )

    async def _know_topics(self, partitions: Collection[TopicPartition]) -> None:
        """Load the topic ids that requests carry."""
        for topic in by_topic(partitions):
            await self._client.topic(topic, timeout_ms=self._client.settings.default_api_timeout_ms)

    def _ensure_success(
        self, code: int, identity: MemberIdentity, partition: TopicPartition | None = None
    ) -> None:
        if not code:
            return
        place = "" if partition is None else f"{partition}, "
        member = f", member {identity.member_id!r}" if identity.member_id else ""
        subject = f"{place}group {self._group_id!r}{member}"
        error = error_of(code, subject=subject)
        remedy = _REMEDIES.get(type(error))
        if remedy is not None:
            error = error_of(code, subject=subject, remedy=remedy)
        self._coordinator.handle_error(error)
        raise error

    async def _retry_stale(self, attempt: Attempt[T]) -> T:
        """Retry with the epoch of the next heartbeat; the caller's timeout ends the retries."""
        while True:
            try:
                return await attempt()
            except StaleMemberEpochError:
                if self._identity().epoch < 0:
                    raise
                await self._client.runtime.sleep_ms(self._client.settings.retry_backoff_ms)
