"""Requests in flight: frames, correlation ids and API versions."""

import pytest

from cordwood.client.network.in_flight_requests import InFlightRequests
from cordwood.core.errors import BytesError, UnsupportedVersionError
from cordwood.protocol.codec import encode, joined
from cordwood.protocol.header import read_request_header
from cordwood.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from cordwood.protocol.messages.heartbeat import HeartbeatRequest
from cordwood.protocol.messages.metadata import MetadataRequest


def ask(in_flight: InFlightRequests) -> bytes:
    return joined(in_flight.add(MetadataRequest(topics=[]), 1)[1])


def answer(correlation_id: int, body: bytes = b"body") -> bytearray:
    return bytearray(correlation_id.to_bytes(4) + body)


def test_request_has_size_header_and_body() -> None:
    in_flight = InFlightRequests("me")

    frame = ask(in_flight)
    header, at = read_request_header(memoryview(frame)[4:])

    assert int.from_bytes(frame[:4]) == len(frame) - 4
    assert header.request_api_key == 3
    assert header.client_id == "me"
    assert frame[4 + at :] == bytes(4)


def test_responses_complete_requests_in_order() -> None:
    in_flight = InFlightRequests("me")
    ask(in_flight)
    ask(in_flight)

    assert bytes(in_flight.complete(answer(0, b"first"))) == b"first"
    assert bytes(in_flight.complete(answer(1, b"second"))) == b"second"


@pytest.mark.parametrize("number", (1, -1))
def test_response_with_another_correlation_id_is_rejected(number: int) -> None:
    in_flight = InFlightRequests("me")
    ask(in_flight)

    with pytest.raises(BytesError, match="correlation id"):
        in_flight.complete(answer(number & 0xFFFFFFFF))


def test_unexpected_response_is_rejected() -> None:
    in_flight = InFlightRequests("me")
    in_flight.add(MetadataRequest(topics=[]), 1, has_response=False)

    with pytest.raises(BytesError, match="a response"):
        in_flight.complete(answer(0))


def test_version_is_the_newest_of_both() -> None:
    in_flight = InFlightRequests("me")

    in_flight.versions = {3: (0, 5)}

    assert in_flight.version_of(MetadataRequest) == 5
    with pytest.raises(UnsupportedVersionError, match="Heartbeat"):
        in_flight.version_of(HeartbeatRequest)


def response(error_code: int, first: int, last: int) -> ApiVersionsResponse:
    versions = ApiVersion(api_key=18, min_version=first, max_version=last)
    return ApiVersionsResponse(error_code=error_code, api_keys=[versions])


def test_api_versions_request_is_repeated_in_the_version_of_the_broker() -> None:
    in_flight = InFlightRequests("me")

    again = in_flight.update_versions(memoryview(joined(encode(response(35, 0, 2), 0))), 4)

    assert again == 2
    assert in_flight.update_versions(memoryview(joined(encode(response(0, 0, 2), 2))), 2) is None
    assert in_flight.versions == {18: (0, 2)}


def test_broker_without_a_common_version_raises() -> None:
    in_flight = InFlightRequests("me")

    with pytest.raises(UnsupportedVersionError):
        in_flight.update_versions(memoryview(joined(encode(response(35, 0, 0), 0))), 0)
