"""FindCoordinator: nobody looks after groups and transactions here, which is what everyone is told.

The API is served all the same: librdkafka compresses with LZ4 only where this API is told of, and
its consumers, which always name a group, look for a coordinator even when they are assigned their
partitions. Not available is what they bear; any other error is handed to the application.
"""

from typing import Final

from cordwood.broker.broker import Broker
from cordwood.broker.request import RequestContext
from cordwood.core.errors import CoordinatorNotAvailableError
from cordwood.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

_WORDS: Final = "This broker serves neither groups nor transactions"
_NOBODY: Final = -1
_FIRST_WITH_MANY: Final = 4


async def find_coordinator(
    _broker: Broker, context: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    """Tell of every key that it has no coordinator."""
    if context.api_version < _FIRST_WITH_MANY:
        return FindCoordinatorResponse(
            error_code=CoordinatorNotAvailableError.code,
            error_message=_WORDS,
            node_id=_NOBODY,
            port=_NOBODY,
        )
    return FindCoordinatorResponse(
        coordinators=[
            Coordinator(
                key=key,
                node_id=_NOBODY,
                host="",
                port=_NOBODY,
                error_code=CoordinatorNotAvailableError.code,
                error_message=_WORDS,
            )
            for key in request.coordinator_keys
        ]
    )
