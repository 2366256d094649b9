"""Scripts of a fake broker that is the coordinator of every group and transactional id."""

from cordwood.protocol.messages.api_versions import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
)
from cordwood.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from tests.unit.client.fake_broker import NODE, FakeBroker, versions

LOOKUPS = 20


def found(code: int = 0, node_id: int = NODE) -> FindCoordinatorResponse:
    """Return a response with this coordinator."""
    made = Coordinator(
        key="k", node_id=node_id, host="h", port=1, error_code=code, error_message=None
    )
    return FindCoordinatorResponse(coordinators=[made])


def coordinates(fake: FakeBroker) -> None:
    """Answer lookups with this broker."""
    fake.script(FindCoordinatorRequest, *[lambda _: found()] * LOOKUPS)


def finalizes(fake: FakeBroker, level: int) -> None:
    """Advertise a level of transaction.version on the next connections."""

    def answer(_: ApiVersionsRequest) -> ApiVersionsResponse:
        response = versions()
        response.finalized_features_epoch = 1
        response.finalized_features = [
            FinalizedFeatureKey(
                name="transaction.version", max_version_level=level, min_version_level=level
            )
        ]
        return response

    fake.script(ApiVersionsRequest, *[answer] * LOOKUPS)
