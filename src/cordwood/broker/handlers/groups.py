"""Handlers of members of groups, and of administrators of groups.

Kafka: the `handle...Group` methods of `KafkaApis`. A member's request goes to the shard of its
group. A request about several groups is divided by group; each has its own result.

Kafka has a thread for an event of a shard. Here a list of many members or groups is several events,
between which the loop serves others.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Final, TypeVar

from cordwood.broker.handlers.request_client import client_of
from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.services import BrokerServices
from cordwood.broker.topics.authorized_operations import OF_GROUP
from cordwood.coordination.group_shard import GroupShard
from cordwood.coordination.groups.group_registry import GroupFilter, GroupPage
from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    KafkaError,
    NotCoordinatorError,
)
from cordwood.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from cordwood.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from cordwood.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
)
from cordwood.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

T = TypeVar("T")

#: Members that leave in one event, and groups that are listed in one: about 1 ms each.
MOST_MEMBERS: Final = 500
MOST_LISTED: Final = 500

_NO_GENERATION: Final = -1
_FIRST_WITH_NULL_PROTOCOL: Final = 7
_FIRST_WITH_MESSAGE: Final = 6


async def join_group(
    broker: BrokerServices, context: RequestContext, request: JoinGroupRequest
) -> JoinGroupResponse:
    """Join a group; the response comes when the group's members are known."""
    client = client_of(context)
    try:
        return await broker.coordinators.groups.call(
            request.group_id,
            lambda shard, ticket, now_ms: shard.join_group(
                request, client, ticket=ticket, now_ms=now_ms
            ),
            answer=JoinGroupResponse,
            gone=context.connection.stopping,
        )
    except KafkaError as error:
        is_null = context.api_version >= _FIRST_WITH_NULL_PROTOCOL
        return JoinGroupResponse(
            error_code=error.code,
            generation_id=_NO_GENERATION,
            protocol_name=None if is_null else "",
            leader="",
            member_id=request.member_id,
            members=[],
        )


async def sync_group(
    broker: BrokerServices, context: RequestContext, request: SyncGroupRequest
) -> SyncGroupResponse:
    """Return a member's assignment, once the leader of the group has sent it."""
    client = client_of(context)
    try:
        return await broker.coordinators.groups.call(
            request.group_id,
            lambda shard, ticket, now_ms: shard.sync_group(
                request, client, ticket=ticket, now_ms=now_ms
            ),
            answer=SyncGroupResponse,
            gone=context.connection.stopping,
        )
    except KafkaError as error:
        return SyncGroupResponse(error_code=error.code, assignment=b"")


async def heartbeat(
    broker: BrokerServices, context: RequestContext, request: HeartbeatRequest
) -> HeartbeatResponse:
    """Keep the session of a member.

    While a partition is loaded its members are not rejected, as in Kafka: they cannot do better.
    """
    client = client_of(context)
    try:
        return await broker.coordinators.groups.call(
            request.group_id,
            lambda shard, ticket, now_ms: shard.heartbeat(
                request, client, ticket=ticket, now_ms=now_ms
            ),
            answer=HeartbeatResponse,
        )
    except CoordinatorLoadInProgressError:
        return HeartbeatResponse(error_code=0)
    except KafkaError as error:
        return HeartbeatResponse(error_code=error.code)


async def leave_group(
    broker: BrokerServices, context: RequestContext, request: LeaveGroupRequest
) -> LeaveGroupResponse:
    """Remove members from a group, those of one part with one rebalance."""
    if len(request.members) <= MOST_MEMBERS:
        return await _left(broker, context, request)
    members = list[MemberResponse]()
    async for part in LoopTurns(broker.turns).of(_parts(request.members, MOST_MEMBERS)):
        some = copy(request)
        some.members = part
        response = await _left(broker, context, some)
        if response.error_code:
            return response
        members += response.members
    return LeaveGroupResponse(error_code=0, members=members)


async def _left(
    broker: BrokerServices, context: RequestContext, request: LeaveGroupRequest
) -> LeaveGroupResponse:
    client = client_of(context)
    try:
        return await broker.coordinators.groups.call(
            request.group_id,
            lambda shard, ticket, now_ms: shard.leave_group(
                request, client, ticket=ticket, now_ms=now_ms
            ),
            answer=LeaveGroupResponse,
        )
    except KafkaError as error:
        return LeaveGroupResponse(error_code=error.code)


def _parts(elements: Sequence[T], most: int) -> Iterator[list[T]]:
    """Yield the elements in lists of at most `most`."""
    return ([*elements[at : at + most]] for at in range(0, len(elements), most))


async def describe_groups(
    broker: BrokerServices, context: RequestContext, request: DescribeGroupsRequest
) -> DescribeGroupsResponse:
    """Describe classic groups; a group that is named twice is described once."""
    groups = [
        await _described(broker, context, group_id)
        async for group_id in LoopTurns(broker.turns).of(dict.fromkeys(request.groups))
    ]
    if request.include_authorized_operations:
        for each in groups:
            each.authorized_operations = OF_GROUP
    return DescribeGroupsResponse(groups=groups)


async def _described(
    broker: BrokerServices, context: RequestContext, group_id: str
) -> DescribedGroup:
    one, client = DescribeGroupsRequest(groups=[group_id]), client_of(context)
    try:
        response = await broker.coordinators.groups.call(
            group_id,
            lambda shard, ticket, now_ms: shard.describe_groups(
                one, client, ticket=ticket, now_ms=now_ms
            ),
            answer=DescribeGroupsResponse,
        )
    except KafkaError as error:
        return DescribedGroup(
            error_code=error.code,
            error_message=str(error) if context.api_version >= _FIRST_WITH_MESSAGE else None,
            group_id=group_id,
            group_state="",
            protocol_type="",
            protocol_data="",
            members=[],
        )
    return response.groups[0]


async def list_groups(
    broker: BrokerServices, context: RequestContext, request: ListGroupsRequest
) -> ListGroupsResponse:
    """List the groups of all partitions that this broker coordinates."""
    runtime, turns = broker.coordinators.groups.runtime, LoopTurns(broker.turns)
    filters = GroupFilter.of(
        dict.fromkeys(request.states_filter), dict.fromkeys(request.types_filter)
    )
    listed = ListGroupsResponse(error_code=0, groups=[])
    async for partition in turns.of([*runtime.partitions()]):
        try:
            group_ids = await runtime.read(partition, GroupShard.group_ids)
            async for part in turns.of(_parts(group_ids, MOST_LISTED)):
                page = GroupPage(filters, part)
                listed.groups += await _listed(broker, context, request, (partition, page))
        except NotCoordinatorError:
            continue
        except KafkaError as error:
            return ListGroupsResponse(error_code=error.code, groups=[])
    return listed


async def _listed(
    broker: BrokerServices,
    context: RequestContext,
    request: ListGroupsRequest,
    listed: tuple[int, GroupPage],
) -> list[ListedGroup]:
    """Return the groups of a page of a partition."""
    (partition, page), client = listed, client_of(context)
    response = await broker.coordinators.groups.runtime.call(
        partition,
        lambda shard, ticket, now_ms: shard.list_groups(
            request, client, ticket=ticket, now_ms=now_ms, page=page
        ),
        answer=ListGroupsResponse,
    )
    return response.groups


async def delete_groups(
    broker: BrokerServices, context: RequestContext, request: DeleteGroupsRequest
) -> DeleteGroupsResponse:
    """Delete empty groups with their offsets; a group that is named twice counts once."""
    return DeleteGroupsResponse(
        results=[
            await _deleted(broker, context, group_id)
            async for group_id in LoopTurns(broker.turns).of(dict.fromkeys(request.group_names))
        ]
    )


async def _deleted(
    broker: BrokerServices, context: RequestContext, group_id: str
) -> DeletableGroupResult:
    one, client = DeleteGroupsRequest(group_names=[group_id]), client_of(context)
    try:
        response = await broker.coordinators.groups.call(
            group_id,
            lambda shard, ticket, now_ms: shard.delete_groups(
                one, client, ticket=ticket, now_ms=now_ms
            ),
            answer=DeleteGroupsResponse,
        )
    except KafkaError as error:
        return DeletableGroupResult(group_id=group_id, error_code=error.code)
    return response.results[0]
