"""Requests and answers find each other."""

import pytest

from cordwood.client.exchange import Exchange
from cordwood.core.errors import BytesError, UnsupportedVersionError
from cordwood.protocol.codec import encode, joined
from cordwood.protocol.header import read_request_header
from cordwood.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from cordwood.protocol.messages.heartbeat import HeartbeatRequest
from cordwood.protocol.messages.metadata import MetadataRequest


def ask(exchange: Exchange) -> bytes:
    return joined(exchange.ask(MetadataRequest(topics=[]), 1)[1])


def answer(correlation_id: int, body: bytes = b"body") -> bytearray:
    return bytearray(correlation_id.to_bytes(4) + body)


def test_request_has_size_header_and_body() -> None:
    exchange = Exchange("me")

    frame = ask(exchange)
    header, at = read_request_header(memoryview(frame)[4:])

    assert int.from_bytes(frame[:4]) == len(frame) - 4
    assert (header.request_api_key, header.client_id) == (3, "me")
    assert frame[4 + at :] == bytes(4)


def test_answers_belong_to_the_oldest_request() -> None:
    exchange = Exchange("me")
    ask(exchange)
    ask(exchange)

    assert bytes(exchange.answered(answer(0, b"first"))) == b"first"
    assert bytes(exchange.answered(answer(1, b"second"))) == b"second"


@pytest.mark.parametrize("number", (1, -1))
def test_answer_to_another_request_is_refused(number: int) -> None:
    exchange = Exchange("me")
    ask(exchange)

    with pytest.raises(BytesError, match="correlation id"):
        exchange.answered(answer(number & 0xFFFFFFFF))


def test_answer_that_nobody_waits_for_is_refused() -> None:
    exchange = Exchange("me")
    exchange.ask(MetadataRequest(topics=[]), 1, is_answered=False)

    with pytest.raises(BytesError, match="an answer"):
        exchange.answered(answer(0))


def test_version_is_the_newest_of_both() -> None:
    exchange = Exchange("me")

    exchange.versions = {3: (0, 5)}

    assert exchange.version_of(MetadataRequest) == 5
    with pytest.raises(UnsupportedVersionError, match="Heartbeat"):
        exchange.version_of(HeartbeatRequest)


def told(error_code: int, first: int, last: int) -> ApiVersionsResponse:
    versions = ApiVersion(api_key=18, min_version=first, max_version=last)
    return ApiVersionsResponse(error_code=error_code, api_keys=[versions])


def test_broker_that_refuses_the_version_is_asked_in_its_own() -> None:
    exchange = Exchange("me")

    again = exchange.learn(memoryview(joined(encode(told(35, 0, 2), 0))), 4)

    assert again == 2
    assert exchange.learn(memoryview(joined(encode(told(0, 0, 2), 2))), 2) is None
    assert exchange.versions == {18: (0, 2)}


def test_broker_that_knows_no_version_is_given_up() -> None:
    exchange = Exchange("me")

    with pytest.raises(UnsupportedVersionError):
        exchange.learn(memoryview(joined(encode(told(35, 0, 0), 0))), 0)
