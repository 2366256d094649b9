"""Header versions of requests and responses, byte for byte."""

import pytest

from cordwood.core.errors import BytesError, UnsupportedVersionError
from cordwood.protocol.apis import API_VERSIONS, APIS
from cordwood.protocol.header import (
    RequestHeader,
    ResponseHeader,
    append_request_header,
    append_response_header,
    read_request_header,
    read_response_header,
    response_header,
)

METADATA = APIS[3]


def request_header(key: int, version: int, client_id: str | None = "me") -> str:
    out = bytearray()
    header = RequestHeader(
        request_api_key=key, request_api_version=version, correlation_id=7, client_id=client_id
    )
    append_request_header(out, header)
    return out.hex()


def test_request_header_names_its_client_when_not_flexible() -> None:
    assert request_header(3, 8) == "000300080000000700026d65"


def test_request_header_has_tags_and_an_old_client_id_when_flexible() -> None:
    assert request_header(3, 9) == "000300090000000700026d6500"


def test_request_header_has_no_client_in_the_first_controlled_shutdown() -> None:
    assert request_header(7, 0) == "0007000000000007"
    assert request_header(7, 1) == "000700010000000700026d65"


@pytest.mark.parametrize("client_id", (None, ""))
@pytest.mark.parametrize("version", (8, 9))
def test_request_header_keeps_an_empty_client_id(client_id: str | None, version: int) -> None:
    frame = memoryview(bytes.fromhex(request_header(3, version, client_id) + "ee"))

    header, body = read_request_header(frame)

    assert header.client_id == client_id
    assert bytes(frame[body:]) == b"\xee"


def test_request_header_of_an_unserved_version_is_read() -> None:
    header, body = read_request_header(memoryview(bytes.fromhex("0012 0063 00000007 ffff 00")))

    assert header.request_api_version == 99
    assert header.correlation_id == 7
    assert body == 11


def test_request_header_of_an_unknown_api_is_rejected() -> None:
    with pytest.raises(UnsupportedVersionError, match="no API 999"):
        read_request_header(memoryview(bytes.fromhex("03e7 0000 00000007 ffff")))


@pytest.mark.parametrize("cut", range(11))
def test_truncated_request_header_is_rejected(cut: int) -> None:
    with pytest.raises(BytesError):
        read_request_header(memoryview(bytes.fromhex("0003 0009 00000007 ffff 00"))[:cut])


@pytest.mark.parametrize(("version", "expected"), ((8, "00000007"), (9, "0000000700")))
def test_response_header_has_tags_when_flexible(version: int, expected: str) -> None:
    out = bytearray()

    append_response_header(out, ResponseHeader(correlation_id=7), api=METADATA, version=version)

    assert out.hex() == expected
    assert response_header(METADATA, version, correlation_id=7) == out
    assert read_response_header(memoryview(out), METADATA, version=version)[1] == len(out)


def test_response_header_of_api_versions_never_has_tags() -> None:
    out = bytearray()

    append_response_header(out, ResponseHeader(correlation_id=7), api=API_VERSIONS, version=4)

    assert out.hex() == "00000007"
    assert response_header(API_VERSIONS, 4, correlation_id=7) == out
