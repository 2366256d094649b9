"""ElectLeaders: golden bytes."""

from cordwood.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = ElectLeadersRequest(election_type=1, topic_partitions=None, timeout_ms=2)
    wire = "01 ffffffff 00000002"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_2() -> None:
    message = ElectLeadersResponse(
        throttle_time_ms=1,
        error_code=2,
        replica_election_results=[
            ReplicaElectionResult(
                topic="t",
                partition_result=[
                    PartitionResult(partition_id=3, error_code=4, error_message="no")
                ],
            )
        ],
    )
    wire = "00000001 0002 02 0274 02 00000003 0004 036e6f 00 00 00"

    assert_wire(message, wire, version=2)
