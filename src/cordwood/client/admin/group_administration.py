"""Calls of the admin client about groups and their offsets (Java: `KafkaAdminClient`).

Every call goes to the group's coordinator; `list_groups` goes to every broker. Offsets of a group
with running members cannot be altered: the broker answers UNKNOWN_MEMBER_ID.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from cordwood.client.admin.group_responses import (
    classic_group_of,
    committed_of,
    consumer_group_of,
    delete_topics,
    fetch_topics,
)
from cordwood.client.admin.group_types import GroupDescription, GroupListing
from cordwood.client.group.offset_messages import commit_topics
from cordwood.client.group_offset import GroupOffset
from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.coordinator_call import (
    GROUP,
    CoordinatorAttempt,
    CoordinatorKey,
    call_coordinator,
    coordinator_of,
    while_markers_are_written,
)
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.response_errors import ensure_success, error_of
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import (
    GroupIdNotFoundError,
    GroupSubscribedToTopicError,
    KafkaError,
    NonEmptyGroupError,
    UnknownMemberIdError,
    UnsupportedVersionError,
)
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from cordwood.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from cordwood.protocol.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from cordwood.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from cordwood.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from cordwood.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from cordwood.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)

T = TypeVar("T")

#: The last versions that name topics; later ones have their ids.
_LAST_WITH_NAMES: Final = 9
_GROUPS_SINCE: Final = 8
_STATES_SINCE: Final = 4
_TYPES_SINCE: Final = 5
_STOP_MEMBERS: Final = "stop the group's members first, or remove them"
_REMEDIES: Final[Mapping[int, str]] = {
    UnknownMemberIdError.code: _STOP_MEMBERS,
    NonEmptyGroupError.code: _STOP_MEMBERS,
    GroupSubscribedToTopicError.code: "stop the members that subscribe to the topic first",
    GroupIdNotFoundError.code: "check the name of the group",
}


class GroupAdministration:
    """Calls about groups; `Admin` has them."""

    @abstractmethod
    def _started(self) -> NetworkClient:
        """Return the client; InvalidRequestError if it is closed or not started."""

    async def list_groups(
        self, *, states: Sequence[str] = (), types: Sequence[str] = ()
    ) -> list[GroupListing]:
        """Return the groups of all brokers, sorted by id; the filters ignore case."""
        client = self._started()

        async def of_broker(node_id: int) -> list[GroupListing]:
            connection = await client.connection(node_id)
            request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
            _ensure_filters(connection, states, types)
            response = await connection.send(request, ListGroupsResponse)
            ensure_success(response.error_code, subject=f"groups of broker {node_id}")
            return [
                GroupListing(
                    group_id=each.group_id,
                    protocol_type=each.protocol_type,
                    state=each.group_state,
                    type=each.group_type,
                )
                for each in response.groups
            ]

        async def attempt() -> list[GroupListing]:
            await client.refresh()
            found = await asyncio.gather(*map(of_broker, client.cluster.brokers))
            groups = {each.group_id: each for listed in found for each in listed}
            return [groups[group_id] for group_id in sorted(groups)]

        return await client.retry_until_timeout(attempt, subject="groups")

    async def describe_groups(self, group_ids: Iterable[str]) -> list[GroupDescription]:
        """Return the groups and their members, of both kinds."""
        return list(await asyncio.gather(*map(self._describe_group, group_ids)))

    async def list_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[tuple[str, int]] | None = None,
        *,
        require_stable: bool = False,
    ) -> dict[TopicPartition, GroupOffset]:
        """Return the committed offsets of these partitions, or of all.

        A partition without one is absent. `require_stable` waits for open transactions that
        commit offsets.
        """
        topics = None if partitions is None else fetch_topics(partitions_of(partitions))

        async def attempt(connection: BrokerConnection) -> dict[TopicPartition, GroupOffset]:
            is_batched = connection.version_of(OffsetFetchRequest) >= _GROUPS_SINCE
            request = OffsetFetchRequest(
                group_id="" if is_batched else group_id,
                topics=[] if is_batched else topics,
                groups=[OffsetFetchRequestGroup(group_id=group_id, topics=topics)]
                if is_batched
                else [],
                require_stable=require_stable,
            )
            response = await connection.send(
                request, OffsetFetchResponse, most_version=_LAST_WITH_NAMES
            )
            return committed_of(response, group_id)

        patient = while_markers_are_written(self._started(), attempt)
        return await self._call_group_coordinator(group_id, patient)

    async def alter_group_offsets(
        self, group_id: str, offsets: Mapping[tuple[str, int], int | GroupOffset]
    ) -> None:
        """Commit offsets for a group without members; a missing group is created."""
        wanted = {
            partition: GroupOffset(each) if isinstance(each, int) else each
            for partition, each in zip(partitions_of(offsets), offsets.values(), strict=True)
        }
        request = OffsetCommitRequest(group_id=group_id, member_id="", topics=commit_topics(wanted))

        async def attempt(connection: BrokerConnection) -> None:
            response = await connection.send(
                request, OffsetCommitResponse, most_version=_LAST_WITH_NAMES
            )
            for topic in response.topics:
                for each in topic.partitions:
                    _ensure(each.error_code, f"{group_id!r}, {topic.name}-{each.partition_index}")

        await self._call_group_coordinator(group_id, attempt)

    async def delete_group_offsets(
        self, group_id: str, partitions: Iterable[tuple[str, int]]
    ) -> None:
        """Delete committed offsets; a topic that a member subscribes to is an error."""
        request = OffsetDeleteRequest(
            group_id=group_id, topics=delete_topics(partitions_of(partitions))
        )

        async def attempt(connection: BrokerConnection) -> None:
            response = await connection.send(request, OffsetDeleteResponse)
            _ensure(response.error_code, repr(group_id))
            for topic in response.topics:
                for each in topic.partitions:
                    _ensure(each.error_code, f"{group_id!r}, {topic.name}-{each.partition_index}")

        await self._call_group_coordinator(group_id, attempt)

    async def delete_groups(self, group_ids: Iterable[str]) -> None:
        """Delete groups without members, with their offsets; the first error is raised last."""
        results = await asyncio.gather(*map(self._delete_group, group_ids), return_exceptions=True)
        for error in results:
            if error is not None:
                raise error

    async def remove_members(
        self, group_id: str, instance_ids: Iterable[str] | None = None, *, reason: str = ""
    ) -> None:
        """Remove static members by their instance ids, or all members of a group."""
        if instance_ids is None:
            (group,) = await self.describe_groups([group_id])
            members = [
                MemberIdentity(
                    member_id="" if each.instance_id else each.member_id,
                    group_instance_id=each.instance_id,
                    reason=reason or None,
                )
                for each in group.members
            ]
        else:
            members = [
                MemberIdentity(member_id="", group_instance_id=each, reason=reason or None)
                for each in instance_ids
            ]
        if not members:
            return
        request = LeaveGroupRequest(group_id=group_id, members=members)

        async def attempt(connection: BrokerConnection) -> None:
            response = await connection.send(request, LeaveGroupResponse)
            _ensure(response.error_code, repr(group_id))
            for each in response.members:
                name = each.group_instance_id or each.member_id
                ensure_success(each.error_code, subject=f"group {group_id!r}, member {name!r}")

        await self._call_group_coordinator(group_id, attempt)

    async def _describe_group(self, group_id: str) -> GroupDescription:
        try:
            return await self._call_group_coordinator(
                group_id, self._describe_consumer_group(group_id)
            )
        except (GroupIdNotFoundError, UnsupportedVersionError):
            return await self._call_group_coordinator(
                group_id, self._describe_classic_group(group_id)
            )

    def _describe_consumer_group(self, group_id: str) -> CoordinatorAttempt[GroupDescription]:
        request = ConsumerGroupDescribeRequest(
            group_ids=[group_id], include_authorized_operations=False
        )

        async def attempt(connection: BrokerConnection) -> GroupDescription:
            response = await connection.send(request, ConsumerGroupDescribeResponse)
            (found,) = response.groups
            ensure_success(
                found.error_code, subject=f"group {group_id!r}", message=found.error_message
            )
            return consumer_group_of(found, await self._coordinator(group_id))

        return attempt

    def _describe_classic_group(self, group_id: str) -> CoordinatorAttempt[GroupDescription]:
        request = DescribeGroupsRequest(groups=[group_id])

        async def attempt(connection: BrokerConnection) -> GroupDescription:
            response = await connection.send(request, DescribeGroupsResponse)
            (found,) = response.groups
            return classic_group_of(found, await self._coordinator(group_id))

        return attempt

    async def _coordinator(self, group_id: str) -> int:
        return await coordinator_of(self._started(), CoordinatorKey(GROUP, group_id))

    async def _delete_group(self, group_id: str) -> None:
        request = DeleteGroupsRequest(group_names=[group_id])

        async def attempt(connection: BrokerConnection) -> None:
            response = await connection.send(request, DeleteGroupsResponse)
            (result,) = response.results
            _ensure(result.error_code, repr(group_id))

        await self._call_group_coordinator(group_id, attempt)

    async def _call_group_coordinator(self, group_id: str, attempt: CoordinatorAttempt[T]) -> T:
        return await call_coordinator(self._started(), CoordinatorKey(GROUP, group_id), attempt)


def _ensure(code: int, what: str) -> None:
    """Raise the error of a code with its remedy."""
    if code:
        raise _error(code, what)


def _error(code: int, what: str) -> KafkaError:
    return error_of(code, subject=f"group {what}", remedy=_REMEDIES.get(code, ""))


def _ensure_filters(
    connection: BrokerConnection, states: Sequence[str], types: Sequence[str]
) -> None:
    version = connection.version_of(ListGroupsRequest)
    for filters, since, name in ((states, _STATES_SINCE, "state"), (types, _TYPES_SINCE, "type")):
        if filters and version < since:
            raise UnsupportedVersionError(
                f"broker {connection.address} cannot filter groups by {name}; omit the filter"
            )
