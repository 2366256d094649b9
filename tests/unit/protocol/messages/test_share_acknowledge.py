"""ShareAcknowledge: golden bytes."""

from cordwood.protocol.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from cordwood.protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_2() -> None:
    message = ShareAcknowledgeRequest(
        member_id=None,
        share_session_epoch=1,
        is_renew_ack=True,
        topics=[
            AcknowledgeTopic(
                topic_id=ID,
                partitions=[
                    AcknowledgePartition(
                        partition_index=2,
                        acknowledgement_batches=[
                            AcknowledgementBatch(
                                first_offset=3, last_offset=4, acknowledge_types=[5, 6]
                            )
                        ],
                    )
                ],
            )
        ],
    )
    wire = (
        "00 00 00000001 01 02 000102030405060708090a0b0c0d0e0f 02 00000002 02 "
        "0000000000000003 0000000000000004 03 05 06 00 00 00 00"
    )

    assert_wire(message, wire, version=2)


def test_response_is_kafkas_in_version_2() -> None:
    message = ShareAcknowledgeResponse(
        throttle_time_ms=1,
        error_code=2,
        error_message="no",
        acquisition_lock_timeout_ms=3,
        responses=[
            ShareAcknowledgeTopicResponse(
                topic_id=ID,
                partitions=[
                    PartitionData(
                        partition_index=4,
                        error_code=5,
                        error_message="no",
                        current_leader=LeaderIdAndEpoch(leader_id=6, leader_epoch=7),
                    )
                ],
            )
        ],
        node_endpoints=[NodeEndpoint(node_id=8, host="h", port=9, rack="r")],
    )
    wire = (
        "00000001 0002 036e6f 00000003 02 000102030405060708090a0b0c0d0e0f 02 00000004 0005 "
        "036e6f 00000006 00000007 00 00 00 02 00000008 0268 00000009 0272 00 00"
    )

    assert_wire(message, wire, version=2)
