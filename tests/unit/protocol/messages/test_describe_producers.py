"""DescribeProducers: golden bytes."""

from cordwood.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicRequest,
    TopicResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_0() -> None:
    message = DescribeProducersRequest(topics=[TopicRequest(name="n", partition_indexes=[1, 2])])
    wire = "02 026e 03 00000001 00000002 00 00"

    assert_wire(message, wire, version=0)


def test_response_is_kafkas_in_version_0() -> None:
    message = DescribeProducersResponse(
        throttle_time_ms=1,
        topics=[
            TopicResponse(
                name="n",
                partitions=[
                    PartitionResponse(
                        partition_index=2,
                        error_code=3,
                        error_message="no",
                        active_producers=[
                            ProducerState(
                                producer_id=4,
                                producer_epoch=5,
                                last_sequence=6,
                                last_timestamp=7,
                                coordinator_epoch=8,
                                current_txn_start_offset=9,
                            )
                        ],
                    )
                ],
            )
        ],
    )
    wire = (
        "00000001 02 026e 02 00000002 0003 036e6f 02 0000000000000004 00000005 00000006 "
        "0000000000000007 00000008 0000000000000009 00 00 00 00"
    )

    assert_wire(message, wire, version=0)
