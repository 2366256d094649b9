"""ApiVersions: what this broker speaks, to anybody, before they authenticate and as often as asked.

Clients differ in what they need to read here: some look at the highest version alone, some fail
when a key is missing, older ones on features whose lowest level is 0 (so those are told from
version 4 on). A version that is not served is answered with the range of this API alone.
"""

import re
from typing import Final

from cordwood.broker.broker import Broker
from cordwood.broker.dispatch import ROUTES
from cordwood.broker.request import RequestContext
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
    broker: Broker, context: RequestContext, request: ApiVersionsRequest
) -> ApiVersionsResponse:
    """Tell what is spoken, and remember what the client says it is."""
    if context.api_version >= _FIRST_WITH_SOFTWARE:
        name, version = request.client_software_name, request.client_software_version
        if not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version)):
            return ApiVersionsResponse(error_code=InvalidRequestError.code, api_keys=[])
        context.connection.software_name = name
        context.connection.software_version = version
    lowest_told = 0 if context.api_version >= _FIRST_WITH_LOWEST_0 else 1
    features = broker.features
    return ApiVersionsResponse(
        error_code=0,
        api_keys=[_spoken(key) for key in sorted(ROUTES)],
        supported_features=[
            SupportedFeatureKey(name=name, min_version=levels.lowest, max_version=levels.highest)
            for name, levels in features.supported.items()
            if levels.lowest >= lowest_told
        ],
        finalized_features_epoch=features.epoch,
        finalized_features=[
            FinalizedFeatureKey(
                name=name, min_version_level=levels.lowest, max_version_level=levels.highest
            )
            for name, levels in features.finalized.items()
        ],
    )


def unsupported() -> ApiVersionsResponse:
    """Tell what this API may be asked in."""
    return ApiVersionsResponse(
        error_code=UnsupportedVersionError.code, api_keys=[_spoken(API_VERSIONS.key)]
    )


def _spoken(key: int) -> ApiVersion:
    api = api_of(key)
    return ApiVersion(api_key=key, min_version=api.first, max_version=api.last)
