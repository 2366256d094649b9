"""OffsetForLeaderEpoch: golden bytes."""

from cordwood.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_3() -> None:
    message = OffsetForLeaderEpochRequest(
        replica_id=1,
        topics=[
            OffsetForLeaderTopic(
                topic="t",
                partitions=[
                    OffsetForLeaderPartition(partition=2, current_leader_epoch=3, leader_epoch=4)
                ],
            )
        ],
    )
    wire = "00000001 00000001 000174 00000001 00000002 00000003 00000004"

    assert_wire(message, wire, version=3)


def test_response_is_kafkas_in_version_4() -> None:
    message = OffsetForLeaderEpochResponse(
        throttle_time_ms=1,
        topics=[
            OffsetForLeaderTopicResult(
                topic="t",
                partitions=[
                    EpochEndOffset(error_code=2, partition=3, leader_epoch=4, end_offset=5)
                ],
            )
        ],
    )
    wire = "00000001 02 0274 02 0002 00000003 00000004 0000000000000005 00 00 00"

    assert_wire(message, wire, version=4)
