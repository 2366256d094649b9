"""DeleteTopics: golden bytes."""

from cordwood.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from tests.unit.protocol.messages.golden import ID, assert_wire


def test_request_is_kafkas_in_version_3() -> None:
    message = DeleteTopicsRequest(topic_names=["t"], timeout_ms=1)
    wire = "00000001 000174 00000001"

    assert_wire(message, wire, version=3)


def test_request_is_kafkas_in_version_6() -> None:
    message = DeleteTopicsRequest(topics=[DeleteTopicState(name="n", topic_id=ID)], timeout_ms=1)
    wire = "02 026e 000102030405060708090a0b0c0d0e0f 00 00000001 00"

    assert_wire(message, wire, version=6)


def test_response_is_kafkas_in_version_3() -> None:
    message = DeleteTopicsResponse(
        throttle_time_ms=1, responses=[DeletableTopicResult(name="n", error_code=2)]
    )
    wire = "00000001 00000001 00016e 0002"

    assert_wire(message, wire, version=3)


def test_response_is_kafkas_in_version_6() -> None:
    message = DeleteTopicsResponse(
        throttle_time_ms=1,
        responses=[DeletableTopicResult(name="n", topic_id=ID, error_code=2, error_message="no")],
    )
    wire = "00000001 02 026e 000102030405060708090a0b0c0d0e0f 0002 036e6f 00 00"

    assert_wire(message, wire, version=6)
