"""AlterShareGroupOffsets: golden bytes."""

from cordwood.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_0() -> None:
    message = AlterShareGroupOffsetsRequest(
        group_id="g",
        topics=[
            AlterShareGroupOffsetsRequestTopic(
                topic_name="t",
                partitions=[
                    AlterShareGroupOffsetsRequestPartition(partition_index=1, start_offset=2)
                ],
            )
        ],
    )
    wire = "0267 02 0274 02 00000001 0000000000000002 00 00 00"

    assert_wire(message, wire, version=0)


def test_response_is_kafkas_in_version_0() -> None:
    message = AlterShareGroupOffsetsResponse(
        throttle_time_ms=1,
        error_code=2,
        error_message="no",
        responses=[
            AlterShareGroupOffsetsResponseTopic(
                topic_name="t",
                topic_id=ID,
                partitions=[
                    AlterShareGroupOffsetsResponsePartition(
                        partition_index=3, error_code=4, error_message="no"
                    )
                ],
            )
        ],
    )
    wire = (
        "00000001 0002 036e6f 02 0274 000102030405060708090a0b0c0d0e0f 02 00000003 0004 "
        "036e6f 00 00 00"
    )

    assert_wire(message, wire, version=0)
