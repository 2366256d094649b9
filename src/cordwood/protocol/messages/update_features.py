"""UpdateFeatures: the levels of features that the whole cluster agrees on.

v1  how to downgrade, and validation alone
v2  one error for the whole request: results by feature are gone
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Bool, Int8, Int16, Int32, String


class FeatureUpdateKey(Struct):
    """The level one feature should have; 0 switches it off."""

    feature: String
    max_version_level: Int16
    allow_downgrade: Bool = field(until=0, default=False)
    #: 1 up alone, 2 down if nothing is lost, 3 down in any case.
    upgrade_type: Int8 = field(since=1, default=1)


class UpdateFeaturesRequest(Request, api_key=57, versions=(0, 2), flexible_since=0):
    """The levels to have."""

    timeout_ms: Int32 = field(default=60000)
    feature_updates: list[FeatureUpdateKey]
    validate_only: Bool = field(since=1, default=False)


class UpdatableFeatureResult(Struct):
    """What became of one feature."""

    feature: String
    error_code: Int16
    error_message: String | None


class UpdateFeaturesResponse(Response, api_key=57, versions=(0, 2), flexible_since=0):
    """Whether it was done; up to version 1 feature by feature."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    error_message: String | None
    results: list[UpdatableFeatureResult] = field(until=1, default=[], ignorable=True)
