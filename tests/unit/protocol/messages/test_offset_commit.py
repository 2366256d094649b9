"""OffsetCommit: golden bytes."""

from cordwood.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_7() -> None:
    message = OffsetCommitRequest(
        group_id="g",
        generation_id_or_member_epoch=1,
        member_id="m",
        topics=[
            OffsetCommitRequestTopic(
                name="n",
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=2,
                        committed_offset=3,
                        committed_leader_epoch=4,
                        committed_metadata=None,
                    )
                ],
            )
        ],
    )
    wire = (
        "000167 00000001 00016d ffff 00000001 00016e 00000001 00000002 0000000000000003 "
        "00000004 ffff"
    )

    assert_wire(message, wire, version=7)


def test_request_is_kafkas_in_version_10() -> None:
    message = OffsetCommitRequest(
        group_id="g",
        generation_id_or_member_epoch=1,
        member_id="m",
        group_instance_id="i",
        topics=[
            OffsetCommitRequestTopic(
                topic_id=ID,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=2,
                        committed_offset=3,
                        committed_leader_epoch=4,
                        committed_metadata="c",
                    )
                ],
            )
        ],
    )
    wire = (
        "0267 00000001 026d 0269 02 000102030405060708090a0b0c0d0e0f 02 00000002 "
        "0000000000000003 00000004 0263 00 00 00"
    )

    assert_wire(message, wire, version=10)


def test_response_is_kafkas_in_version_7() -> None:
    message = OffsetCommitResponse(
        throttle_time_ms=1,
        topics=[
            OffsetCommitResponseTopic(
                name="n",
                partitions=[OffsetCommitResponsePartition(partition_index=2, error_code=3)],
            )
        ],
    )
    wire = "00000001 00000001 00016e 00000001 00000002 0003"

    assert_wire(message, wire, version=7)


def test_response_is_kafkas_in_version_10() -> None:
    message = OffsetCommitResponse(
        throttle_time_ms=1,
        topics=[
            OffsetCommitResponseTopic(
                topic_id=ID,
                partitions=[OffsetCommitResponsePartition(partition_index=2, error_code=3)],
            )
        ],
    )
    wire = "00000001 02 000102030405060708090a0b0c0d0e0f 02 00000002 0003 00 00 00"

    assert_wire(message, wire, version=10)
