"""DescribeTopicPartitions: golden bytes."""

from cordwood.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_0() -> None:
    message = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name="n")], response_partition_limit=1
    )
    wire = "02 026e 00 00000001 ff 00"

    assert_wire(message, wire, version=0)


def test_response_is_kafkas_in_version_0() -> None:
    message = DescribeTopicPartitionsResponse(
        throttle_time_ms=1,
        topics=[
            DescribeTopicPartitionsResponseTopic(
                error_code=2,
                name="n",
                topic_id=ID,
                is_internal=True,
                partitions=[
                    DescribeTopicPartitionsResponsePartition(
                        error_code=3,
                        partition_index=4,
                        leader_id=5,
                        leader_epoch=6,
                        replica_nodes=[7, 8],
                        isr_nodes=[9, 10],
                        eligible_leader_replicas=[11, 12],
                        last_known_elr=[13, 14],
                        offline_replicas=[15, 16],
                    )
                ],
                topic_authorized_operations=17,
            )
        ],
        next_cursor=Cursor(topic_name="t", partition_index=18),
    )
    wire = (
        "00000001 02 0002 026e 000102030405060708090a0b0c0d0e0f 01 02 0003 00000004 00000005 "
        "00000006 03 00000007 00000008 03 00000009 0000000a 03 0000000b 0000000c 03 0000000d "
        "0000000e 03 0000000f 00000010 00 00000011 00 01 0274 00000012 00 00"
    )

    assert_wire(message, wire, version=0)
