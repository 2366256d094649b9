"""Every reader of messages and of headers, over random and damaged bytes."""

from collections.abc import Callable

import pytest

from cordwood.protocol.codec import encode, joined, reader
from cordwood.protocol.header import RequestHeader, append_request_header, read_request_header
from cordwood.protocol.schema import Message
from tests.fuzz.harness import TIMEOUT_S, fuzz
from tests.fuzz.mutations import left_damaged
from tests.interop.kafka_harness.messages import kinds, sample

Report = Callable[[str], None]

pytestmark = [pytest.mark.fuzz, pytest.mark.timeout(TIMEOUT_S)]

VERSIONS = [
    (kind, version)
    for kind in kinds()
    for version in range(kind.__schema__.versions[0], kind.__schema__.versions[1] + 1)
]

#: The bytes in front of a case that select its message.
LEAD = 2


def messages() -> list[bytes]:
    """Every version of every message, with null wherever it may be, and nowhere."""
    return [
        number.to_bytes(LEAD) + joined(encode(sample(kind, version, with_nulls=nulls), version))
        for number, (kind, version) in enumerate(VERSIONS)
        for nulls in (False, True)
    ]


def read_message(data: bytearray) -> None:
    """Read a message; what can be read can be written, and is read as the same again."""
    kind, version = VERSIONS[int.from_bytes(data[:LEAD]) % len(VERSIONS)]
    message = read(kind, version, data[LEAD:])

    written = joined(encode(message, version))

    again = read(kind, version, bytearray(written))
    assert joined(encode(again, version)) == written


def read(kind: type[Message], version: int, data: bytearray) -> Message:
    message, after = reader(kind, version)(memoryview(data), 0)
    assert after <= len(data)
    return message


def headers() -> list[bytes]:
    """A request header of each version."""
    found = []
    for key, version in ((7, 0), (3, 1), (3, 12)):
        out = bytearray()
        header = RequestHeader(
            request_api_key=key, request_api_version=version, correlation_id=7, client_id=""
        )
        append_request_header(out, header)
        found.append(bytes(out))
    return found


def test_messages_raise_only_our_errors_on_any_bytes(report: Report) -> None:
    outcome = fuzz(read_message, messages(), damage=left_damaged)

    report(f"messages: {outcome}")
    assert outcome.accepted > 0
    assert len(outcome.refused) >= 5


def test_headers_raise_only_our_errors_on_any_bytes(report: Report) -> None:
    outcome = fuzz(
        lambda data: read_request_header(memoryview(data)), headers(), damage=left_damaged
    )

    report(f"headers: {outcome}")
    assert outcome.accepted > 0
    assert outcome.refused.total() > 0
