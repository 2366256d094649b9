"""ApiVersions: golden bytes."""

from cordwood.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_2() -> None:
    message = ApiVersionsRequest()
    wire = ""

    assert_wire(message, wire, version=2)


def test_request_is_kafkas_in_version_4() -> None:
    message = ApiVersionsRequest(client_software_name="c", client_software_version="c")
    wire = "0263 0263 00"

    assert_wire(message, wire, version=4)


def test_response_is_kafkas_in_version_2() -> None:
    message = ApiVersionsResponse(
        error_code=1,
        api_keys=[ApiVersion(api_key=2, min_version=3, max_version=4)],
        throttle_time_ms=5,
    )
    wire = "0001 00000001 0002 0003 0004 00000005"

    assert_wire(message, wire, version=2)


def test_response_is_kafkas_in_version_4() -> None:
    message = ApiVersionsResponse(
        error_code=1,
        api_keys=[ApiVersion(api_key=2, min_version=3, max_version=4)],
        throttle_time_ms=5,
        supported_features=[SupportedFeatureKey(name="n", min_version=6, max_version=7)],
        finalized_features_epoch=8,
        finalized_features=[
            FinalizedFeatureKey(name="n", max_version_level=9, min_version_level=10)
        ],
        zk_migration_ready=True,
    )
    wire = (
        "0001 02 0002 0003 0004 00 00000005 04 0008 02 026e 0006 0007 00 0108 "
        "0000000000000008 0208 02 026e 0009 000a 00 0301 01"
    )

    assert_wire(message, wire, version=4)
