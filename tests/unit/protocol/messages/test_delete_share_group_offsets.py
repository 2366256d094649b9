"""DeleteShareGroupOffsets: golden bytes."""

from cordwood.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_0() -> None:
    message = DeleteShareGroupOffsetsRequest(
        group_id="g", topics=[DeleteShareGroupOffsetsRequestTopic(topic_name="t")]
    )
    wire = "0267 02 0274 00 00"

    assert_wire(message, wire, version=0)


def test_response_is_kafkas_in_version_0() -> None:
    message = DeleteShareGroupOffsetsResponse(
        throttle_time_ms=1,
        error_code=2,
        error_message="no",
        responses=[
            DeleteShareGroupOffsetsResponseTopic(
                topic_name="t", topic_id=ID, error_code=3, error_message="no"
            )
        ],
    )
    wire = "00000001 0002 036e6f 02 0274 000102030405060708090a0b0c0d0e0f 0003 036e6f 00 00"

    assert_wire(message, wire, version=0)
