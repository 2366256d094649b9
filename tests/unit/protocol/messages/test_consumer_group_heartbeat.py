"""ConsumerGroupHeartbeat: golden bytes."""

from cordwood.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=1, rebalance_timeout_ms=2
    )
    wire = "0267 026d 00000001 00 00 00000002 00 00 00 00 00"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_1() -> None:
    message = ConsumerGroupHeartbeatResponse(
        throttle_time_ms=1,
        error_code=2,
        error_message="no",
        member_id="m",
        member_epoch=3,
        heartbeat_interval_ms=4,
        assignment=Assignment(topic_partitions=[TopicPartitions(topic_id=ID, partitions=[5, 6])]),
    )
    wire = (
        "00000001 0002 036e6f 026d 00000003 00000004 01 02 000102030405060708090a0b0c0d0e0f "
        "03 00000005 00000006 00 00 00"
    )

    assert_wire(message, wire, version=1)
