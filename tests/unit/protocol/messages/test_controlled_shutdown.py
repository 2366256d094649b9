"""ControlledShutdown: golden bytes."""

from cordwood.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_2() -> None:
    message = ControlledShutdownRequest(broker_id=1, broker_epoch=2)
    wire = "00000001 0000000000000002"

    assert_wire(message, wire, version=2)


def test_response_is_kafkas_in_version_3() -> None:
    message = ControlledShutdownResponse(
        error_code=1, remaining_partitions=[RemainingPartition(topic_name="t", partition_index=2)]
    )
    wire = "0001 02 0274 00000002 00 00"

    assert_wire(message, wire, version=3)
