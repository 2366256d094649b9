"""Fetch: golden bytes."""

from cordwood.protocol.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from cordwood.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
    SnapshotId,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_11() -> None:
    message = FetchRequest(
        replica_id=1,
        max_wait_ms=2,
        min_bytes=3,
        max_bytes=4,
        isolation_level=5,
        session_id=6,
        session_epoch=7,
        topics=[
            FetchTopic(
                topic="t",
                partitions=[
                    FetchPartition(
                        partition=8,
                        current_leader_epoch=9,
                        fetch_offset=10,
                        log_start_offset=11,
                        partition_max_bytes=12,
                    )
                ],
            )
        ],
        forgotten_topics=[ForgottenTopic(topic="t", partitions=[13, 14])],
        rack_id="r",
    )
    wire = (
        "00000001 00000002 00000003 00000004 05 00000006 00000007 00000001 000174 00000001 "
        "00000008 00000009 000000000000000a 000000000000000b 0000000c 00000001 000174 "
        "00000002 0000000d 0000000e 000172"
    )

    assert_wire(message, wire, version=11)


def test_request_is_kafkas_in_version_18() -> None:
    message = FetchRequest(
        cluster_id="C",
        replica_state=ReplicaState(replica_id=1, replica_epoch=2),
        max_wait_ms=3,
        min_bytes=4,
        max_bytes=5,
        isolation_level=6,
        session_id=7,
        session_epoch=8,
        topics=[
            FetchTopic(
                topic_id=ID,
                partitions=[
                    FetchPartition(
                        partition=9,
                        current_leader_epoch=10,
                        fetch_offset=11,
                        last_fetched_epoch=12,
                        log_start_offset=13,
                        partition_max_bytes=14,
                        replica_directory_id=ID,
                        high_watermark=15,
                    )
                ],
            )
        ],
        forgotten_topics=[ForgottenTopic(topic_id=ID, partitions=[16, 17])],
        rack_id="r",
    )
    wire = (
        "00000003 00000004 00000005 06 00000007 00000008 02 000102030405060708090a0b0c0d0e0f "
        "02 00000009 0000000a 000000000000000b 0000000c 000000000000000d 0000000e 02 0010 "
        "000102030405060708090a0b0c0d0e0f 0108 000000000000000f 00 02 "
        "000102030405060708090a0b0c0d0e0f 03 00000010 00000011 00 0272 02 0002 0243 010d "
        "00000001 0000000000000002 00"
    )

    assert_wire(message, wire, version=18)


def test_response_is_kafkas_in_version_11() -> None:
    message = FetchResponse(
        throttle_time_ms=1,
        error_code=2,
        session_id=3,
        responses=[
            FetchableTopicResponse(
                topic="t",
                partitions=[
                    PartitionData(
                        partition_index=4,
                        error_code=5,
                        high_watermark=6,
                        last_stable_offset=7,
                        log_start_offset=8,
                        aborted_transactions=None,
                        preferred_read_replica=9,
                        records=b"\x01\x02\x03",
                    )
                ],
            )
        ],
    )
    wire = (
        "00000001 0002 00000003 00000001 000174 00000001 00000004 0005 0000000000000006 "
        "0000000000000007 0000000000000008 ffffffff 00000009 00000003010203"
    )

    assert_wire(message, wire, version=11)


def test_response_is_kafkas_in_version_18() -> None:
    message = FetchResponse(
        throttle_time_ms=1,
        error_code=2,
        session_id=3,
        responses=[
            FetchableTopicResponse(
                topic_id=ID,
                partitions=[
                    PartitionData(
                        partition_index=4,
                        error_code=5,
                        high_watermark=6,
                        last_stable_offset=7,
                        log_start_offset=8,
                        diverging_epoch=EpochEndOffset(epoch=9, end_offset=10),
                        current_leader=LeaderIdAndEpoch(leader_id=11, leader_epoch=12),
                        snapshot_id=SnapshotId(end_offset=13, epoch=14),
                        aborted_transactions=[AbortedTransaction(producer_id=15, first_offset=16)],
                        preferred_read_replica=17,
                        records=b"\x01\x02\x03",
                    )
                ],
            )
        ],
        node_endpoints=[NodeEndpoint(node_id=18, host="h", port=19, rack="r")],
    )
    wire = (
        "00000001 0002 00000003 02 000102030405060708090a0b0c0d0e0f 02 00000004 0005 "
        "0000000000000006 0000000000000007 0000000000000008 02 000000000000000f "
        "0000000000000010 00 00000011 04010203 03 000d 00000009 000000000000000a 00 0109 "
        "0000000b 0000000c 00 020d 000000000000000d 0000000e 00 00 01 000e 02 00000012 0268 "
        "00000013 0272 00"
    )

    assert_wire(message, wire, version=18)
