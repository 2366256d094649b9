"""CreateAcls: golden bytes."""

from cordwood.protocol.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = CreateAclsRequest(
        creations=[
            AclCreation(
                resource_type=1,
                resource_name="r",
                resource_pattern_type=2,
                principal="p",
                host="h",
                operation=3,
                permission_type=4,
            )
        ]
    )
    wire = "00000001 01 000172 02 000170 000168 03 04"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_3() -> None:
    message = CreateAclsResponse(
        throttle_time_ms=1, results=[AclCreationResult(error_code=2, error_message="no")]
    )
    wire = "00000001 02 0002 036e6f 00 00"

    assert_wire(message, wire, version=3)
