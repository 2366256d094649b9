"""AlterPartition: golden bytes."""

from cordwood.protocol.messages.alter_partition import (
    AlteredPartitionState,
    AlteredPartitionTopic,
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionState,
    AlterPartitionTopic,
    BrokerState,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_3() -> None:
    message = AlterPartitionRequest(
        broker_id=1,
        broker_epoch=2,
        topics=[
            AlterPartitionTopic(
                topic_id=ID,
                partitions=[
                    AlterPartitionState(
                        partition_index=3,
                        leader_epoch=4,
                        new_isr_with_epochs=[BrokerState(broker_id=5, broker_epoch=6)],
                        leader_recovery_state=7,
                        partition_epoch=8,
                    )
                ],
            )
        ],
    )
    wire = (
        "00000001 0000000000000002 02 000102030405060708090a0b0c0d0e0f 02 00000003 00000004 "
        "02 00000005 0000000000000006 00 07 00000008 00 00 00"
    )

    assert_wire(message, wire, version=3)


def test_response_is_kafkas_in_version_3() -> None:
    message = AlterPartitionResponse(
        throttle_time_ms=1,
        error_code=2,
        topics=[
            AlteredPartitionTopic(
                topic_id=ID,
                partitions=[
                    AlteredPartitionState(
                        partition_index=3,
                        error_code=4,
                        leader_id=5,
                        leader_epoch=6,
                        isr=[7, 8],
                        leader_recovery_state=9,
                        partition_epoch=10,
                    )
                ],
            )
        ],
    )
    wire = (
        "00000001 0002 02 000102030405060708090a0b0c0d0e0f 02 00000003 0004 00000005 00000006 "
        "03 00000007 00000008 09 0000000a 00 00 00"
    )

    assert_wire(message, wire, version=3)
