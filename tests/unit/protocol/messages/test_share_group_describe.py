"""ShareGroupDescribe: golden bytes."""

from cordwood.protocol.messages.consumer_group_describe import Assignment, TopicPartitions
from cordwood.protocol.messages.share_group_describe import (
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = ShareGroupDescribeRequest(group_ids=["g"], include_authorized_operations=True)
    wire = "02 0267 01 00"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_1() -> None:
    message = ShareGroupDescribeResponse(
        throttle_time_ms=1,
        groups=[
            DescribedGroup(
                error_code=2,
                error_message="no",
                group_id="g",
                group_state="g",
                group_epoch=3,
                assignment_epoch=4,
                assignor_name="a",
                members=[
                    Member(
                        member_id="m",
                        rack_id="r",
                        member_epoch=5,
                        client_id="c",
                        client_host="/h",
                        subscribed_topic_names=["s"],
                        assignment=Assignment(
                            topic_partitions=[
                                TopicPartitions(topic_id=ID, topic_name="t", partitions=[6, 7])
                            ]
                        ),
                    )
                ],
                authorized_operations=8,
            )
        ],
    )
    wire = (
        "00000001 02 0002 036e6f 0267 0267 00000003 00000004 0261 02 026d 0272 00000005 0263 "
        "032f68 02 0273 02 000102030405060708090a0b0c0d0e0f 0274 03 00000006 00000007 00 00 "
        "00 00000008 00 00"
    )

    assert_wire(message, wire, version=1)
