"""UpdateFeatures: changes the finalized feature levels of the cluster.

Changes by version:

    v1  types of downgrades, and validation only
    v2  one error for the whole request, without results by feature
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int8, Int16, Int32, String


class FeatureUpdateKey(Struct):
    """The new level of one feature; 0 disables it."""

    feature: String
    max_version_level: Int16
    allow_downgrade: Bool = field(until=0, default=False)
    #: 1 upgrade only, 2 safe downgrade without loss, 3 unsafe downgrade.
    upgrade_type: Int8 = field(since=1, default=1)


class UpdateFeaturesRequest(Request, api_key=57, versions=(0, 2), flexible_since=0):
    """The new levels."""

    timeout_ms: Int32 = field(default=60000)
    feature_updates: list[FeatureUpdateKey]
    validate_only: Bool = field(since=1, default=False)


class UpdatableFeatureResult(Struct):
    """Result of one feature."""

    feature: String
    error_code: Int16
    error_message: String | None


class UpdateFeaturesResponse(Response, api_key=57, versions=(0, 2), flexible_since=0):
    """The result; up to version 1 also by feature."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    error_message: String | None
    results: list[UpdatableFeatureResult] = field(until=1, default=[], ignorable=True)
