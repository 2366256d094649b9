"""AlterReplicaLogDirs: golden bytes."""

from cordwood.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
    AlterReplicaLogDirTopicResult,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path="/d", topics=[AlterReplicaLogDirTopic(name="n", partitions=[1, 2])]
            )
        ]
    )
    wire = "00000001 00022f64 00000001 00016e 00000002 00000001 00000002"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_2() -> None:
    message = AlterReplicaLogDirsResponse(
        throttle_time_ms=1,
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name="t",
                partitions=[AlterReplicaLogDirPartitionResult(partition_index=2, error_code=3)],
            )
        ],
    )
    wire = "00000001 02 0274 02 00000002 0003 00 00 00"

    assert_wire(message, wire, version=2)
