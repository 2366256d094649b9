"""AlterPartitionReassignments: golden bytes."""

from cordwood.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopic,
    ReassignableTopicResponse,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = AlterPartitionReassignmentsRequest(
        timeout_ms=1,
        allow_replication_factor_change=True,
        topics=[ReassignableTopic(name="n", partitions=[ReassignablePartition(partition_index=2)])],
    )
    wire = "00000001 01 02 026e 02 00000002 00 00 00 00"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_1() -> None:
    message = AlterPartitionReassignmentsResponse(
        throttle_time_ms=1,
        allow_replication_factor_change=True,
        error_code=2,
        error_message="no",
        responses=[
            ReassignableTopicResponse(
                name="n",
                partitions=[
                    ReassignablePartitionResponse(
                        partition_index=3, error_code=4, error_message="no"
                    )
                ],
            )
        ],
    )
    wire = "00000001 01 0002 036e6f 02 026e 02 00000003 0004 036e6f 00 00 00"

    assert_wire(message, wire, version=1)
