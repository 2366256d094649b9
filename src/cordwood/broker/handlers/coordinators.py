"""FindCoordinator handler: there are no group or transaction coordinators on this broker.

The API is served for librdkafka. It compresses with LZ4 only if a broker serves this API. Its
consumers always have a group, so they look for a coordinator even with assigned partitions; they
tolerate COORDINATOR_NOT_AVAILABLE and pass any other error to the application.
"""

from typing import Final

from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.services import BrokerServices
from cordwood.core.errors import CoordinatorNotAvailableError
from cordwood.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

_WORDS: Final = "This broker serves neither groups nor transactions"
_NO_NODE: Final = -1
_FIRST_WITH_MANY: Final = 4


async def find_coordinator(
    broker: BrokerServices, context: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    """Return COORDINATOR_NOT_AVAILABLE for every key."""
    if context.api_version < _FIRST_WITH_MANY:
        return FindCoordinatorResponse(
            error_code=CoordinatorNotAvailableError.code,
            error_message=_WORDS,
            node_id=_NO_NODE,
            port=_NO_NODE,
        )
    return FindCoordinatorResponse(
        coordinators=[
            Coordinator(
                key=key,
                node_id=_NO_NODE,
                host="",
                port=_NO_NODE,
                error_code=CoordinatorNotAvailableError.code,
                error_message=_WORDS,
            )
            async for key in LoopTurns(broker.turns).of(request.coordinator_keys)
        ]
    )
