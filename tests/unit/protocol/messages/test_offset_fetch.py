"""OffsetFetch: golden bytes."""

from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_5() -> None:
    message = OffsetFetchRequest(group_id="g", topics=None)
    wire = "000167 ffffffff"

    assert_wire(message, wire, version=5)


def test_request_is_kafkas_in_version_10() -> None:
    message = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id="g",
                member_id="m",
                member_epoch=1,
                topics=[OffsetFetchRequestTopic(topic_id=ID, partition_indexes=[2, 3])],
            )
        ],
        require_stable=True,
    )
    wire = (
        "02 0267 026d 00000001 02 000102030405060708090a0b0c0d0e0f 03 00000002 00000003 00 00 01 00"
    )

    assert_wire(message, wire, version=10)


def test_response_is_kafkas_in_version_5() -> None:
    message = OffsetFetchResponse(
        throttle_time_ms=1,
        topics=[
            OffsetFetchResponseTopic(
                name="n",
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=2,
                        committed_offset=3,
                        committed_leader_epoch=4,
                        metadata=None,
                        error_code=5,
                    )
                ],
            )
        ],
        error_code=6,
    )
    wire = "00000001 00000001 00016e 00000001 00000002 0000000000000003 00000004 ffff 0005 0006"

    assert_wire(message, wire, version=5)


def test_response_is_kafkas_in_version_10() -> None:
    message = OffsetFetchResponse(
        throttle_time_ms=1,
        groups=[
            OffsetFetchResponseGroup(
                group_id="g",
                topics=[
                    OffsetFetchResponseTopic(
                        topic_id=ID,
                        partitions=[
                            OffsetFetchResponsePartition(
                                partition_index=2,
                                committed_offset=3,
                                committed_leader_epoch=4,
                                metadata="m",
                                error_code=5,
                            )
                        ],
                    )
                ],
                error_code=6,
            )
        ],
    )
    wire = (
        "00000001 02 0267 02 000102030405060708090a0b0c0d0e0f 02 00000002 0000000000000003 "
        "00000004 026d 0005 00 00 0006 00 00"
    )

    assert_wire(message, wire, version=10)
