"""ShareFetch: golden bytes."""

from cordwood.protocol.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from cordwood.protocol.messages.share_acknowledge import AcknowledgementBatch
from cordwood.protocol.messages.share_fetch import (
    AcquiredRecords,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_2() -> None:
    message = ShareFetchRequest(
        member_id=None,
        share_session_epoch=1,
        max_wait_ms=2,
        min_bytes=3,
        max_bytes=4,
        max_records=5,
        batch_size=6,
        share_acquire_mode=7,
        is_renew_ack=True,
        topics=[
            FetchTopic(
                topic_id=ID,
                partitions=[
                    FetchPartition(
                        partition_index=8,
                        acknowledgement_batches=[
                            AcknowledgementBatch(
                                first_offset=9, last_offset=10, acknowledge_types=[11, 12]
                            )
                        ],
                    )
                ],
            )
        ],
        forgotten_topics=[ForgottenTopic(topic_id=ID, partitions=[13, 14])],
    )
    wire = (
        "00 00 00000001 00000002 00000003 00000004 00000005 00000006 07 01 02 "
        "000102030405060708090a0b0c0d0e0f 02 00000008 02 0000000000000009 000000000000000a 03 "
        "0b 0c 00 00 00 02 000102030405060708090a0b0c0d0e0f 03 0000000d 0000000e 00 00"
    )

    assert_wire(message, wire, version=2)


def test_response_is_kafkas_in_version_2() -> None:
    message = ShareFetchResponse(
        throttle_time_ms=1,
        error_code=2,
        error_message="no",
        acquisition_lock_timeout_ms=3,
        responses=[
            ShareFetchableTopicResponse(
                topic_id=ID,
                partitions=[
                    PartitionData(
                        partition_index=4,
                        error_code=5,
                        error_message="no",
                        acknowledge_error_code=6,
                        acknowledge_error_message="a",
                        current_leader=LeaderIdAndEpoch(leader_id=7, leader_epoch=8),
                        records=b"\x01\x02\x03",
                        acquired_records=[
                            AcquiredRecords(first_offset=9, last_offset=10, delivery_count=11)
                        ],
                    )
                ],
            )
        ],
        node_endpoints=[NodeEndpoint(node_id=12, host="h", port=13, rack="r")],
    )
    wire = (
        "00000001 0002 036e6f 00000003 02 000102030405060708090a0b0c0d0e0f 02 00000004 0005 "
        "036e6f 0006 0261 00000007 00000008 00 04010203 02 0000000000000009 000000000000000a "
        "000b 00 00 00 02 0000000c 0268 0000000d 0272 00 00"
    )

    assert_wire(message, wire, version=2)
