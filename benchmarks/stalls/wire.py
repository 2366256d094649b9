"""A blocking connection to a broker, for requests that are encoded once and sent repeatedly."""

import socket
import ssl
import struct
from collections.abc import Sequence
from typing import Final, TypeVar

from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from cordwood.protocol.schema import Request, Response

R = TypeVar("R", bound=Response)

#: The last version of Produce whose headers are not flexible.
PRODUCE_VERSION: Final = 8
_TIMEOUT_S: Final = 120


class Wire:
    """One connection; requests are answered one by one."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        plain = socket.create_connection(("127.0.0.1", port), _TIMEOUT_S)
        self._socket = plain if tls is None else tls.wrap_socket(plain, server_hostname="localhost")

    def ask(self, frame: bytes) -> memoryview:
        """Send a frame and return the response without its header."""
        self.send(frame)
        return self.receive()

    def receive(self) -> memoryview:
        """Return the next response without its header."""
        (size,) = struct.unpack(">i", self._receive(4))
        return self._receive(size)[4:]

    def send(self, frame: bytes) -> None:
        """Send a frame; its response is not read here."""
        self._socket.sendall(frame)

    def _receive(self, size: int) -> memoryview:
        data = memoryview(bytearray(size))
        at = 0
        while at < size:
            count = self._socket.recv_into(data[at:])
            if not count:
                raise ConnectionResetError("the broker has closed the connection")
            at += count
        return data

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def frame_of(request: Request, version: int) -> bytes:
    """Return a request in its frame; the version has no flexible header."""
    body = joined(encode(request, version))
    header = struct.pack(">hhih", type(request).__schema__.api_key, version, 1, -1)
    return struct.pack(">i", len(header) + len(body)) + header + body


def answer(
    wire: Wire, frame: bytes, kind: type[R], version: int
) -> R:  # tidy: allow[positional] as decode, with the frame before
    """Send a frame and return the decoded response."""
    return decode(kind, wire.ask(frame), version)


def produce_frame(topic: str, partitions: Sequence[int], records: bytes) -> bytes:
    """Return a Produce request with the same record set for each partition."""
    data = [PartitionProduceData(index=index, records=records) for index in partitions]
    topics = [TopicProduceData(name=topic, partitions=data)]
    return frame_of(ProduceRequest(acks=-1, timeout_ms=60_000, topics=topics), PRODUCE_VERSION)


def produce(wire: Wire, frame: bytes) -> None:
    """Send a Produce request; raise if a partition has an error."""
    response = answer(wire, frame, ProduceResponse, PRODUCE_VERSION)
    codes = {each.error_code for topic in response.responses for each in topic.partitions}
    if codes != {0}:
        raise RuntimeError(f"produce failed: error codes {sorted(codes)}")
