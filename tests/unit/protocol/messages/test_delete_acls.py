"""DeleteAcls: golden bytes."""

from cordwood.protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = DeleteAclsRequest(
        filters=[
            DeleteAclsFilter(
                resource_type_filter=1,
                resource_name_filter=None,
                pattern_type_filter=2,
                principal_filter=None,
                host_filter=None,
                operation=3,
                permission_type=4,
            )
        ]
    )
    wire = "00000001 01 ffff 02 ffff ffff 03 04"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_3() -> None:
    message = DeleteAclsResponse(
        throttle_time_ms=1,
        filter_results=[
            DeleteAclsFilterResult(
                error_code=2,
                error_message="no",
                matching_acls=[
                    DeleteAclsMatchingAcl(
                        error_code=3,
                        error_message="no",
                        resource_type=4,
                        resource_name="r",
                        pattern_type=5,
                        principal="p",
                        host="h",
                        operation=6,
                        permission_type=7,
                    )
                ],
            )
        ],
    )
    wire = "00000001 02 0002 036e6f 02 0003 036e6f 04 0272 05 0270 0268 06 07 00 00 00"

    assert_wire(message, wire, version=3)
