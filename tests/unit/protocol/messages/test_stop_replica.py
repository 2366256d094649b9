"""StopReplica: golden bytes."""

from cordwood.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
    StopReplicaTopicV1,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = StopReplicaRequest(
        controller_id=1,
        controller_epoch=2,
        broker_epoch=3,
        delete_partitions=True,
        topics=[StopReplicaTopicV1(name="n", partition_indexes=[4, 5])],
    )
    wire = "00000001 00000002 0000000000000003 01 00000001 00016e 00000002 00000004 00000005"

    assert_wire(message, wire, version=1)


def test_request_is_kafkas_in_version_4() -> None:
    message = StopReplicaRequest(
        controller_id=1,
        is_kraft_controller=True,
        controller_epoch=2,
        broker_epoch=3,
        topic_states=[
            StopReplicaTopicState(
                topic_name="t",
                partition_states=[
                    StopReplicaPartitionState(
                        partition_index=4, leader_epoch=5, delete_partition=True
                    )
                ],
            )
        ],
    )
    wire = "00000001 01 00000002 0000000000000003 02 0274 02 00000004 00000005 01 00 00 00"

    assert_wire(message, wire, version=4)


def test_response_is_kafkas_in_version_1() -> None:
    message = StopReplicaResponse(
        error_code=1,
        partition_errors=[
            StopReplicaPartitionError(topic_name="t", partition_index=2, error_code=3)
        ],
    )
    wire = "0001 00000001 000174 00000002 0003"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_4() -> None:
    message = StopReplicaResponse(
        error_code=1,
        partition_errors=[
            StopReplicaPartitionError(topic_name="t", partition_index=2, error_code=3)
        ],
    )
    wire = "0001 02 0274 00000002 0003 00 00"

    assert_wire(message, wire, version=4)
