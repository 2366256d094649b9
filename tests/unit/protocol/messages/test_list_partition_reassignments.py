"""ListPartitionReassignments: golden bytes."""

from cordwood.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_0() -> None:
    message = ListPartitionReassignmentsRequest(timeout_ms=1)
    wire = "00000001 00 00"

    assert_wire(message, wire, version=0)


def test_response_is_kafkas_in_version_0() -> None:
    message = ListPartitionReassignmentsResponse(
        throttle_time_ms=1,
        error_code=2,
        error_message="no",
        topics=[
            OngoingTopicReassignment(
                name="n",
                partitions=[
                    OngoingPartitionReassignment(
                        partition_index=3,
                        replicas=[4, 5],
                        adding_replicas=[6, 7],
                        removing_replicas=[8, 9],
                    )
                ],
            )
        ],
    )
    wire = (
        "00000001 0002 036e6f 02 026e 02 00000003 03 00000004 00000005 03 00000006 00000007 "
        "03 00000008 00000009 00 00 00"
    )

    assert_wire(message, wire, version=0)
