"""Requests to a real broker without any client, byte for byte.

`ask` sends a message of ours. `produce_raw` writes one Produce request of version 7 by hand. After
the i32 size come i16 key 0, i16 version, i32 correlation id, client id, transactional id, i16 acks,
i32 timeout, then one topic with one partition and its record bytes.
"""

import select
import socket
import struct
from typing import Final, Self, TypeVar

from cordwood.core.binary import Buffer
from cordwood.protocol.apis import api_of
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.header import RequestHeader, append_request_header, read_response_header
from cordwood.protocol.schema import Request, Response
from tests.interop.kafka_harness.patience import PATIENCE_S

VERSION: Final = 7
CORRELATION_ID: Final = 77


R = TypeVar("R", bound=Response)


def ask(bootstrap: str, request: Request, version: int, *, answer: type[R]) -> R:
    """Send a request and return the broker's answer."""
    with Connection(bootstrap) as connection:
        return connection.ask(request, version, answer=answer)


class Connection:
    """A connection for many requests, one at a time."""

    def __init__(self, bootstrap: str) -> None:
        host, port = bootstrap.split(":")
        self._socket = socket.create_connection((host, int(port)), PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; an answer that is still due is lost."""
        self._socket.close()

    def ask(self, request: Request, version: int, *, answer: type[R]) -> R:
        """Send a request and return the broker's answer."""
        self.send(request, version)
        return self.receive(version, answer=answer)

    def send(self, request: Request, version: int) -> None:
        """Send a request whose answer may take long."""
        key = type(request).__schema__.api_key
        assert key is not None, f"{request} is no request"
        frame = bytearray()
        header = RequestHeader(
            request_api_key=key,
            request_api_version=version,
            correlation_id=CORRELATION_ID,
            client_id="cordwood-interop",
        )
        append_request_header(frame, header)
        self._send(frame + joined(encode(request, version)))

    def receive(self, version: int, *, answer: type[R]) -> R:
        """Return the answer of the request that was sent last."""
        key = answer.__schema__.api_key
        assert key is not None, f"{answer} is no response"
        received = memoryview(self._receive())
        _, begin = read_response_header(received, api_of(key), version=version)
        return decode(answer, received[begin:], version)

    def is_answered(self, patience_s: float = 0) -> bool:
        """Return whether an answer is there to receive."""
        return bool(select.select([self._socket], [], [], patience_s)[0])

    def exchange(self, frame: Buffer) -> bytes:
        """Send a frame and return the one that answers it."""
        self._send(frame)
        return self._receive()

    def _send(self, frame: Buffer) -> None:
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)

    def _receive(self) -> bytes:
        (size,) = struct.unpack(">i", _receive(self._socket, 4))
        return _receive(self._socket, size)


def produce_raw(bootstrap: str, topic: str, data: bytes) -> tuple[int, int]:
    """Send one batch to partition 0; the broker's error code and the base offset it gave."""
    return _response(_exchange(bootstrap, _request(topic, data)), topic)


def _exchange(bootstrap: str, frame: Buffer) -> bytes:
    with Connection(bootstrap) as connection:
        return connection.exchange(frame)


def _text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">h", len(encoded)) + encoded


def _request(topic: str, data: bytes) -> bytes:
    header = struct.pack(">hhi", 0, VERSION, CORRELATION_ID) + _text("cordwood-interop")
    body = struct.pack(">hhi", -1, -1, PATIENCE_S * 1000)
    one_topic = struct.pack(">i", 1) + _text(topic)
    one_partition = struct.pack(">iii", 1, 0, len(data)) + data
    return header + body + one_topic + one_partition


def _response(frame: bytes, topic: str) -> tuple[int, int]:
    after_topic = 8 + len(_text(topic))
    correlation_id, _topics = struct.unpack_from(">ii", frame)
    assert correlation_id == CORRELATION_ID
    _partitions, _partition, error_code, base_offset = struct.unpack_from(
        ">iihq", frame, after_topic
    )
    return error_code, base_offset


def _receive(connection: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        part = connection.recv(size - len(received))
        assert part, "the broker closed the connection: it could not read the request"
        received += part
    return bytes(received)
