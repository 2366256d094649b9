"""FindCoordinator handler: the broker that coordinates a group or a transactional id.

The internal topic is created with the first request for it. Kafka answers such a request with
COORDINATOR_NOT_AVAILABLE and creates the topic meanwhile; here the response waits for it. The
topic's own number of partitions decides, also after a change of the setting.

librdkafka compresses with LZ4 only if a broker serves this API.
"""

import re
from typing import Final, NamedTuple

from cordwood.broker.coordinators.topic_coordinator import KeyPlacement
from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.services import BrokerServices
from cordwood.core.errors import CoordinatorNotAvailableError, InvalidRequestError, KafkaError
from cordwood.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

_NO_NODE: Final = -1
_FIRST_WITH_MANY: Final = 4
_FIRST_WITH_SHARES: Final = 6
_GROUP: Final = 0
_TRANSACTION: Final = 1
_SHARE: Final = 2
_SHARE_KEY: Final = re.compile(r".+:[A-Za-z0-9_-]{22}:\d+")


class _Endpoint(NamedTuple):
    """The node of a coordinator, on the listener of the request."""

    node_id: int
    host: str
    port: int


async def find_coordinator(
    broker: BrokerServices, context: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    """Return the coordinator of each key."""
    if context.api_version < _FIRST_WITH_MANY:
        return _single(await _find(broker, context, request.key_type, key=request.key))
    return FindCoordinatorResponse(
        coordinators=[
            _described(key, await _find(broker, context, request.key_type, key=key))
            async for key in LoopTurns(broker.turns).of(request.coordinator_keys)
        ]
    )


async def _find(
    broker: BrokerServices, context: RequestContext, kind: int, *, key: str
) -> _Endpoint | KafkaError:
    """Return the coordinator of one key, or the error."""
    try:
        coordinator = _coordinator_of(broker, context, kind, key=key)
        if coordinator.topic not in broker.metadata.image.topics:
            await _create(broker, coordinator.topic)
        return _endpoint(broker, context, coordinator, key=key)
    except KafkaError as error:
        return error.with_traceback(None)


async def _create(broker: BrokerServices, topic: str) -> None:
    """Create an internal topic; raise with the reason if its settings do not allow it."""
    (outcome,) = await broker.topics.create_missing([topic])
    if isinstance(outcome, KafkaError) and topic not in broker.metadata.image.topics:
        raise CoordinatorNotAvailableError(f"{topic} could not be created: {outcome}")


def _coordinator_of(
    broker: BrokerServices, context: RequestContext, kind: int, *, key: str
) -> KeyPlacement:
    if kind == _GROUP:
        return broker.coordinators.groups
    if kind == _TRANSACTION:
        return broker.coordinators.transactions
    if kind != _SHARE:
        raise InvalidRequestError(f"there is no coordinator of type {kind}")
    if context.api_version < _FIRST_WITH_SHARES or _SHARE_KEY.fullmatch(key) is None:
        raise InvalidRequestError("the key of a share partition is group:topicId:partition")
    raise CoordinatorNotAvailableError("this broker does not serve share groups")


def _endpoint(
    broker: BrokerServices, context: RequestContext, coordinator: KeyPlacement, *, key: str
) -> _Endpoint:
    """Return the endpoint of the leader of a key's partition."""
    image = broker.metadata.image
    topic = image.topics.get(coordinator.topic)
    if topic is None:
        raise CoordinatorNotAvailableError(f"{coordinator.topic} could not be created")
    number = coordinator.partition_of(key)
    node = image.brokers.get(topic.partitions[number].leader)
    endpoint = None if node is None else node.endpoints.get(context.connection.listener)
    if node is None or endpoint is None:
        raise CoordinatorNotAvailableError(f"{coordinator.topic}-{number} has no leader")
    return _Endpoint(node.node_id, endpoint.host, endpoint.port)


def _single(found: _Endpoint | KafkaError) -> FindCoordinatorResponse:
    if isinstance(found, KafkaError):
        return FindCoordinatorResponse(
            error_code=found.code,
            error_message=str(found),
            node_id=_NO_NODE,
            host="",
            port=_NO_NODE,
        )
    node_id, host, port = found
    return FindCoordinatorResponse(error_message="NONE", node_id=node_id, host=host, port=port)


def _described(key: str, found: _Endpoint | KafkaError) -> Coordinator:
    if isinstance(found, KafkaError):
        return Coordinator(
            key=key,
            node_id=_NO_NODE,
            host="",
            port=_NO_NODE,
            error_code=found.code,
            error_message=str(found),
        )
    node_id, host, port = found
    return Coordinator(
        key=key, node_id=node_id, host=host, port=port, error_code=0, error_message=""
    )
