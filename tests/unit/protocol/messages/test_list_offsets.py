"""ListOffsets: golden bytes."""

from cordwood.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_5() -> None:
    message = ListOffsetsRequest(
        replica_id=1,
        isolation_level=2,
        topics=[
            ListOffsetsTopic(
                name="n",
                partitions=[
                    ListOffsetsPartition(partition_index=3, current_leader_epoch=4, timestamp=5)
                ],
            )
        ],
    )
    wire = "00000001 02 00000001 00016e 00000001 00000003 00000004 0000000000000005"

    assert_wire(message, wire, version=5)


def test_request_is_kafkas_in_version_11() -> None:
    message = ListOffsetsRequest(
        replica_id=1,
        isolation_level=2,
        topics=[
            ListOffsetsTopic(
                name="n",
                partitions=[
                    ListOffsetsPartition(partition_index=3, current_leader_epoch=4, timestamp=5)
                ],
            )
        ],
        timeout_ms=6,
    )
    wire = "00000001 02 02 026e 02 00000003 00000004 0000000000000005 00 00 00000006 00"

    assert_wire(message, wire, version=11)


def test_response_is_kafkas_in_version_5() -> None:
    message = ListOffsetsResponse(
        throttle_time_ms=1,
        topics=[
            ListOffsetsTopicResponse(
                name="n",
                partitions=[
                    ListOffsetsPartitionResponse(
                        partition_index=2, error_code=3, timestamp=4, offset=5, leader_epoch=6
                    )
                ],
            )
        ],
    )
    wire = (
        "00000001 00000001 00016e 00000001 00000002 0003 0000000000000004 0000000000000005 00000006"
    )

    assert_wire(message, wire, version=5)


def test_response_is_kafkas_in_version_11() -> None:
    message = ListOffsetsResponse(
        throttle_time_ms=1,
        topics=[
            ListOffsetsTopicResponse(
                name="n",
                partitions=[
                    ListOffsetsPartitionResponse(
                        partition_index=2, error_code=3, timestamp=4, offset=5, leader_epoch=6
                    )
                ],
            )
        ],
    )
    wire = "00000001 02 026e 02 00000002 0003 0000000000000004 0000000000000005 00000006 00 00 00"

    assert_wire(message, wire, version=11)
