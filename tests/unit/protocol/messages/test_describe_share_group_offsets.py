"""DescribeShareGroupOffsets: golden bytes."""

from cordwood.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = DescribeShareGroupOffsetsRequest(
        groups=[DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)]
    )
    wire = "02 0267 00 00 00"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_1() -> None:
    message = DescribeShareGroupOffsetsResponse(
        throttle_time_ms=1,
        groups=[
            DescribeShareGroupOffsetsResponseGroup(
                group_id="g",
                topics=[
                    DescribeShareGroupOffsetsResponseTopic(
                        topic_name="t",
                        topic_id=ID,
                        partitions=[
                            DescribeShareGroupOffsetsResponsePartition(
                                partition_index=2,
                                start_offset=3,
                                leader_epoch=4,
                                lag=5,
                                error_code=6,
                                error_message="no",
                            )
                        ],
                    )
                ],
                error_code=7,
                error_message="no",
            )
        ],
    )
    wire = (
        "00000001 02 0267 02 0274 000102030405060708090a0b0c0d0e0f 02 00000002 "
        "0000000000000003 00000004 0000000000000005 0006 036e6f 00 00 0007 036e6f 00 00"
    )

    assert_wire(message, wire, version=1)
