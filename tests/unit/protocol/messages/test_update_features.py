"""UpdateFeatures: golden bytes."""

from cordwood.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_2() -> None:
    message = UpdateFeaturesRequest(
        timeout_ms=1,
        feature_updates=[FeatureUpdateKey(feature="f", max_version_level=2, upgrade_type=3)],
        validate_only=True,
    )
    wire = "00000001 02 0266 0002 03 00 01 00"

    assert_wire(message, wire, version=2)


def test_response_is_kafkas_in_version_2() -> None:
    message = UpdateFeaturesResponse(throttle_time_ms=1, error_code=2, error_message="no")
    wire = "00000001 0002 036e6f 00"

    assert_wire(message, wire, version=2)
