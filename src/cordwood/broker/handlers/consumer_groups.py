"""Handlers of groups of the consumer protocol (KIP-848).

Kafka: `KafkaApis.handleConsumerGroupHeartbeat`, `handleConsumerGroupDescribe`.
"""

from collections.abc import Iterator
from typing import Final

from cordwood.broker.handlers.request_client import client_of
from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.services import BrokerServices
from cordwood.broker.topics.authorized_operations import OF_GROUP
from cordwood.core.errors import InvalidGroupIdError, KafkaError, UnsupportedVersionError
from cordwood.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
)
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

_PROTOCOL: Final = "consumer"
_NO_EPOCH: Final = 0


async def consumer_group_heartbeat(
    broker: BrokerServices, context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    """Let a member join, keep its membership, or leave."""
    client = client_of(context)
    try:
        _ensure_enabled(broker)
        return await broker.coordinators.groups.call(
            request.group_id,
            lambda shard, ticket, now_ms: shard.consumer_group_heartbeat(
                request, client, ticket=ticket, now_ms=now_ms
            ),
            answer=ConsumerGroupHeartbeatResponse,
        )
    except KafkaError as error:
        return ConsumerGroupHeartbeatResponse(
            error_code=error.code,
            error_message=str(error) or None,
            member_epoch=_NO_EPOCH,
            heartbeat_interval_ms=0,
        )


async def consumer_group_describe(
    broker: BrokerServices, context: RequestContext, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    """Describe groups of the consumer protocol; one that is named twice is described once."""
    turns = LoopTurns(broker.turns)
    groups = [
        await _described(broker, context, group_id, turns=turns)
        async for group_id in turns.of(dict.fromkeys(request.group_ids))
    ]
    if request.include_authorized_operations:
        for each in groups:
            each.authorized_operations = OF_GROUP
    return ConsumerGroupDescribeResponse(groups=groups)


async def _described(
    broker: BrokerServices, context: RequestContext, group_id: str, *, turns: LoopTurns
) -> DescribedGroup:
    """Describe a group in one event, and its members of that moment in turns after it."""
    later = list[Iterator[Member]]()
    one = ConsumerGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=False)
    client = client_of(context)
    try:
        _ensure_enabled(broker)
        if not group_id:
            raise InvalidGroupIdError
        response = await broker.coordinators.groups.call(
            group_id,
            lambda shard, ticket, now_ms: shard.consumer_group_describe(
                one, client, ticket=ticket, now_ms=now_ms, later=later
            ),
            answer=ConsumerGroupDescribeResponse,
        )
    except KafkaError as error:
        return DescribedGroup(
            error_code=error.code,
            error_message=str(error) or None,
            group_id=group_id,
            group_state="",
            group_epoch=_NO_EPOCH,
            assignment_epoch=_NO_EPOCH,
            assignor_name="",
            members=[],
        )
    (found,) = response.groups
    found.members = [each for members in later async for each in turns.of(members)]
    return found


def _ensure_enabled(broker: BrokerServices) -> None:
    protocols = broker.configs.value("group.coordinator.rebalance.protocols")
    if not isinstance(protocols, tuple) or _PROTOCOL not in protocols:
        raise UnsupportedVersionError("the consumer protocol of groups is switched off")
