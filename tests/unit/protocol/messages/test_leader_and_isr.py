"""LeaderAndIsr: golden bytes."""

from cordwood.protocol.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    LeaderAndIsrTopicState,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_3() -> None:
    message = LeaderAndIsrRequest(
        controller_id=1,
        controller_epoch=2,
        broker_epoch=3,
        topic_states=[
            LeaderAndIsrTopicState(
                topic_name="t",
                partition_states=[
                    LeaderAndIsrPartitionState(
                        partition_index=4,
                        controller_epoch=5,
                        leader=6,
                        leader_epoch=7,
                        isr=[8, 9],
                        partition_epoch=10,
                        replicas=[11, 12],
                        adding_replicas=[13, 14],
                        removing_replicas=[15, 16],
                        is_new=True,
                    )
                ],
            )
        ],
        live_leaders=[LeaderAndIsrLiveLeader(broker_id=17, host_name="h", port=18)],
    )
    wire = (
        "00000001 00000002 0000000000000003 00000001 000174 00000001 00000004 00000005 "
        "00000006 00000007 00000002 00000008 00000009 0000000a 00000002 0000000b 0000000c "
        "00000002 0000000d 0000000e 00000002 0000000f 00000010 01 00000001 00000011 000168 "
        "00000012"
    )

    assert_wire(message, wire, version=3)


def test_request_is_kafkas_in_version_7() -> None:
    message = LeaderAndIsrRequest(
        controller_id=1,
        is_kraft_controller=True,
        controller_epoch=2,
        broker_epoch=3,
        type=4,
        topic_states=[
            LeaderAndIsrTopicState(
                topic_name="t",
                topic_id=ID,
                partition_states=[
                    LeaderAndIsrPartitionState(
                        partition_index=5,
                        controller_epoch=6,
                        leader=7,
                        leader_epoch=8,
                        isr=[9, 10],
                        partition_epoch=11,
                        replicas=[12, 13],
                        adding_replicas=[14, 15],
                        removing_replicas=[16, 17],
                        is_new=True,
                        leader_recovery_state=18,
                    )
                ],
            )
        ],
        live_leaders=[LeaderAndIsrLiveLeader(broker_id=19, host_name="h", port=20)],
    )
    wire = (
        "00000001 01 00000002 0000000000000003 04 02 0274 000102030405060708090a0b0c0d0e0f 02 "
        "00000005 00000006 00000007 00000008 03 00000009 0000000a 0000000b 03 0000000c "
        "0000000d 03 0000000e 0000000f 03 00000010 00000011 01 12 00 00 02 00000013 0268 "
        "00000014 00 00"
    )

    assert_wire(message, wire, version=7)


def test_response_is_kafkas_in_version_3() -> None:
    message = LeaderAndIsrResponse(
        error_code=1,
        partition_errors=[
            LeaderAndIsrPartitionError(topic_name="t", partition_index=2, error_code=3)
        ],
    )
    wire = "0001 00000001 000174 00000002 0003"

    assert_wire(message, wire, version=3)


def test_response_is_kafkas_in_version_7() -> None:
    message = LeaderAndIsrResponse(
        error_code=1,
        topics=[
            LeaderAndIsrTopicError(
                topic_id=ID,
                partition_errors=[LeaderAndIsrPartitionError(partition_index=2, error_code=3)],
            )
        ],
    )
    wire = "0001 02 000102030405060708090a0b0c0d0e0f 02 00000002 0003 00 00 00"

    assert_wire(message, wire, version=7)
