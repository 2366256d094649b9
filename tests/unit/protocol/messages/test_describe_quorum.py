"""DescribeQuorum: golden bytes."""

from cordwood.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    QuorumPartition,
    QuorumPartitionState,
    QuorumTopic,
    QuorumTopicState,
    ReplicaState,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_2() -> None:
    message = DescribeQuorumRequest(
        topics=[QuorumTopic(topic_name="t", partitions=[QuorumPartition(partition_index=1)])]
    )
    wire = "02 0274 02 00000001 00 00 00"

    assert_wire(message, wire, version=2)


def test_response_is_kafkas_in_version_2() -> None:
    message = DescribeQuorumResponse(
        error_code=1,
        error_message="no",
        topics=[
            QuorumTopicState(
                topic_name="t",
                partitions=[
                    QuorumPartitionState(
                        partition_index=2,
                        error_code=3,
                        error_message="no",
                        leader_id=4,
                        leader_epoch=5,
                        high_watermark=6,
                        current_voters=[
                            ReplicaState(
                                replica_id=7,
                                replica_directory_id=ID,
                                log_end_offset=8,
                                last_fetch_timestamp=9,
                                last_caught_up_timestamp=10,
                            )
                        ],
                        observers=[
                            ReplicaState(
                                replica_id=11,
                                replica_directory_id=ID,
                                log_end_offset=12,
                                last_fetch_timestamp=13,
                                last_caught_up_timestamp=14,
                            )
                        ],
                    )
                ],
            )
        ],
        nodes=[Node(node_id=15, listeners=[Listener(name="n", host="h", port=16)])],
    )
    wire = (
        "0001 036e6f 02 0274 02 00000002 0003 036e6f 00000004 00000005 0000000000000006 02 "
        "00000007 000102030405060708090a0b0c0d0e0f 0000000000000008 0000000000000009 "
        "000000000000000a 00 02 0000000b 000102030405060708090a0b0c0d0e0f 000000000000000c "
        "000000000000000d 000000000000000e 00 00 00 02 0000000f 02 026e 0268 0010 00 00 00"
    )

    assert_wire(message, wire, version=2)
