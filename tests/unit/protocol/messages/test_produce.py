"""Produce: golden bytes."""

from cordwood.protocol.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from cordwood.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_8() -> None:
    message = ProduceRequest(
        acks=1,
        timeout_ms=2,
        topics=[
            TopicProduceData(
                name="n", partitions=[PartitionProduceData(index=3, records=b"\x01\x02\x03")]
            )
        ],
    )
    wire = "ffff 0001 00000002 00000001 00016e 00000001 00000003 00000003010203"

    assert_wire(message, wire, version=8)


def test_request_is_kafkas_in_version_13() -> None:
    message = ProduceRequest(
        transactional_id="x",
        acks=1,
        timeout_ms=2,
        topics=[
            TopicProduceData(
                topic_id=ID, partitions=[PartitionProduceData(index=3, records=b"\x01\x02\x03")]
            )
        ],
    )
    wire = "0278 0001 00000002 02 000102030405060708090a0b0c0d0e0f 02 00000003 04010203 00 00 00"

    assert_wire(message, wire, version=13)


def test_response_is_kafkas_in_version_8() -> None:
    message = ProduceResponse(
        responses=[
            TopicProduceResponse(
                name="n",
                partitions=[
                    PartitionProduceResponse(
                        index=1,
                        error_code=2,
                        base_offset=3,
                        log_append_time_ms=4,
                        log_start_offset=5,
                        record_errors=[BatchIndexAndErrorMessage(batch_index=6)],
                    )
                ],
            )
        ],
        throttle_time_ms=7,
    )
    wire = (
        "00000001 00016e 00000001 00000001 0002 0000000000000003 0000000000000004 "
        "0000000000000005 00000001 00000006 ffff ffff 00000007"
    )

    assert_wire(message, wire, version=8)


def test_response_is_kafkas_in_version_13() -> None:
    message = ProduceResponse(
        responses=[
            TopicProduceResponse(
                topic_id=ID,
                partitions=[
                    PartitionProduceResponse(
                        index=1,
                        error_code=2,
                        base_offset=3,
                        log_append_time_ms=4,
                        log_start_offset=5,
                        record_errors=[
                            BatchIndexAndErrorMessage(batch_index=6, batch_index_error_message="b")
                        ],
                        error_message="no",
                        current_leader=LeaderIdAndEpoch(leader_id=7, leader_epoch=8),
                    )
                ],
            )
        ],
        throttle_time_ms=9,
        node_endpoints=[NodeEndpoint(node_id=10, host="h", port=11, rack="r")],
    )
    wire = (
        "02 000102030405060708090a0b0c0d0e0f 02 00000001 0002 0000000000000003 "
        "0000000000000004 0000000000000005 02 00000006 0262 00 036e6f 01 0009 00000007 "
        "00000008 00 00 00000009 01 000e 02 0000000a 0268 0000000b 0272 00"
    )

    assert_wire(message, wire, version=13)
