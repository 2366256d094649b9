"""OffsetDelete: golden bytes."""

from cordwood.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_0() -> None:
    message = OffsetDeleteRequest(
        group_id="g",
        topics=[
            OffsetDeleteRequestTopic(
                name="n", partitions=[OffsetDeleteRequestPartition(partition_index=1)]
            )
        ],
    )
    wire = "000167 00000001 00016e 00000001 00000001"

    assert_wire(message, wire, version=0)


def test_response_is_kafkas_in_version_0() -> None:
    message = OffsetDeleteResponse(
        error_code=1,
        throttle_time_ms=2,
        topics=[
            OffsetDeleteResponseTopic(
                name="n",
                partitions=[OffsetDeleteResponsePartition(partition_index=3, error_code=4)],
            )
        ],
    )
    wire = "0001 00000002 00000001 00016e 00000001 00000003 0004"

    assert_wire(message, wire, version=0)
