"""CreatePartitions: golden bytes."""

from cordwood.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_1() -> None:
    message = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="n", count=1, assignments=None)],
        timeout_ms=2,
        validate_only=True,
    )
    wire = "00000001 00016e 00000001 ffffffff 00000002 01"

    assert_wire(message, wire, version=1)


def test_response_is_kafkas_in_version_3() -> None:
    message = CreatePartitionsResponse(
        throttle_time_ms=1,
        results=[CreatePartitionsTopicResult(name="n", error_code=2, error_message="no")],
    )
    wire = "00000001 02 026e 0002 036e6f 00 00"

    assert_wire(message, wire, version=3)
