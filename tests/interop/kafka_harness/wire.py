"""One Produce request by hand, so that a batch reaches a real broker exactly as we wrote it.

Request, version 7, after the i32 size: i16 key 0, i16 version, i32 correlation id, client id,
transactional id, i16 acks, i32 timeout, then one topic with one partition and its record bytes.
"""

import socket
import struct
from typing import Final

from tests.interop.kafka_harness.patience import PATIENCE_S

VERSION: Final = 7
CORRELATION_ID: Final = 77


def produce_raw(bootstrap: str, topic: str, data: bytes) -> tuple[int, int]:
    """Send one batch to partition 0; the broker's error code and the base offset it gave."""
    host, port = bootstrap.split(":")
    frame = _request(topic, data)
    with socket.create_connection((host, int(port)), PATIENCE_S) as connection:
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        (size,) = struct.unpack(">i", _receive(connection, 4))
        return _response(_receive(connection, size), topic)


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
