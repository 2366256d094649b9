"""ApiVersions handler: the served APIs and their versions, before authentication too.

Clients use the response differently: some read only the highest version, and some fail if a key is
missing. Clients before version 4 fail on a feature whose lowest version is 0, so version 4 is the
first one with such features. An unsupported version gets a response with the range of this API
alone.
"""

import re
from typing import Final

from cordwood.broker.dispatch import routes_of
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.services import BrokerServices
from cordwood.core.errors import InvalidRequestError, UnsupportedVersionError
from cordwood.protocol.apis import API_VERSIONS, api_of
from cordwood.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

_FIRST_WITH_SOFTWARE: Final = 3
_FIRST_WITH_LOWEST_0: Final = 4
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


async def api_versions(
    broker: BrokerServices, context: RequestContext, request: ApiVersionsRequest
) -> ApiVersionsResponse:
    """Return the served versions, and store the client's software name and version."""
    if context.api_version >= _FIRST_WITH_SOFTWARE:
        name, version = request.client_software_name, request.client_software_version
        if not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version)):
            return ApiVersionsResponse(error_code=InvalidRequestError.code, api_keys=[])
        context.connection.software_name = name
        context.connection.software_version = version
    lowest_allowed = 0 if context.api_version >= _FIRST_WITH_LOWEST_0 else 1
    features = broker.features
    return ApiVersionsResponse(
        error_code=0,
        api_keys=[_version_range(key) for key in sorted(routes_of(broker))],
        supported_features=[
            SupportedFeatureKey(name=name, min_version=levels.lowest, max_version=levels.highest)
            for name, levels in features.supported.items()
            if levels.lowest >= lowest_allowed
        ],
        finalized_features_epoch=features.epoch,
        finalized_features=[
            FinalizedFeatureKey(
                name=name, min_version_level=levels.lowest, max_version_level=levels.highest
            )
            for name, levels in features.finalized.items()
        ],
    )


def unsupported_version_response() -> ApiVersionsResponse:
    """Return the supported versions of ApiVersions itself."""
    return ApiVersionsResponse(
        error_code=UnsupportedVersionError.code, api_keys=[_version_range(API_VERSIONS.key)]
    )


def _version_range(key: int) -> ApiVersion:
    api = api_of(key)
    return ApiVersion(api_key=key, min_version=api.first, max_version=api.last)
