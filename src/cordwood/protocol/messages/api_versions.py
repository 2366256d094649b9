"""ApiVersions: the API versions of a broker; a client's first request, before authentication.

The response header is never flexible, because the client does not have the broker's versions yet. A
request in an unsupported version gets a version 0 response with UNSUPPORTED_VERSION and the range
of this API alone.

    v1  throttle time
    v3  flexible; the client's software, and the cluster's features in tagged fields
    v4  features whose lowest version is 0 may be listed: older clients fail on them
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int16, Int32, Int64, String


class ApiVersionsRequest(Request, api_key=18, versions=(0, 4), flexible_since=3):
    """The client's name and version."""

    client_software_name: String = field(since=3, default="", ignorable=True)
    client_software_version: String = field(since=3, default="", ignorable=True)


class ApiVersion(Struct):
    """The versions of one API."""

    api_key: Int16
    min_version: Int16
    max_version: Int16


class SupportedFeatureKey(Struct):
    """The levels of a feature that this broker supports."""

    name: String
    min_version: Int16
    max_version: Int16


class FinalizedFeatureKey(Struct):
    """The level of a feature that the whole cluster uses."""

    name: String
    max_version_level: Int16
    min_version_level: Int16


class ApiVersionsResponse(Response, api_key=18, versions=(0, 4), flexible_since=3):
    """The supported versions by API, and the features of the cluster."""

    error_code: Int16
    api_keys: list[ApiVersion]
    throttle_time_ms: Int32 = field(since=1, default=0, ignorable=True)
    supported_features: list[SupportedFeatureKey] = field(
        since=3, tag=0, default=[], ignorable=True
    )
    #: Clients use the finalized features only if this is 0 or more.
    finalized_features_epoch: Int64 = field(since=3, tag=1, default=-1, ignorable=True)
    finalized_features: list[FinalizedFeatureKey] = field(
        since=3, tag=2, default=[], ignorable=True
    )
    zk_migration_ready: Bool = field(since=3, tag=3, default=False, ignorable=True)
