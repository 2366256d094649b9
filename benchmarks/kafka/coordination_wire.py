"""Connections to a coordinator: requests that are encoded once, and responses that are read late.

A benchmark of a broker must not measure its client. So frames are encoded before the clock starts,
and responses are cut into frames meanwhile, but decoded only afterwards.
"""

import socket
from collections.abc import Sequence
from time import sleep
from typing import Final, TypeVar

from cordwood.client.network.in_flight_requests import InFlightRequests
from cordwood.protocol.codec import decode, joined
from cordwood.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)
from cordwood.protocol.schema import Request, Response

R = TypeVar("R", bound=Response)

_PATIENCE_S: Final = 120
_SIZE_BYTES: Final = 4
_CORRELATION_BYTES: Final = 4
_AT_ONCE: Final = 1 << 16
_NO_ERROR: Final = 0
#: FindCoordinator without flexible fields, and OffsetFetch of several groups.
_FIND: Final = 2
_FETCH: Final = 8
_POLL_S: Final = 0.02


def frame_of(request: Request, version: int) -> bytes:
    """Return the bytes that a client sends."""
    return joined(InFlightRequests("coordination").add(request, version)[1])


class Channel:
    """One blocking connection."""

    def __init__(self, port: int) -> None:
        self.socket: Final = socket.create_connection(("127.0.0.1", port), _PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._left = b""

    def send(self, frames: bytes) -> None:
        """Send frames, whose responses are received later."""
        self.socket.sendall(frames)

    def receive(self) -> bytes:
        """Return the next response without its size."""
        while (size := self._size()) is None or len(self._left) < size:
            self._left += self._read()
        frame, self._left = self._left[_SIZE_BYTES:size], self._left[size:]
        return frame

    def receive_many(self, count: int) -> list[bytes]:
        """Return the next responses."""
        frames, left, at = list[bytes](), self._left, 0
        while len(frames) < count:
            end = at + _SIZE_BYTES
            if len(left) >= end:
                end += int.from_bytes(left[at:end])
            if len(left) < end or end == at + _SIZE_BYTES:
                left, at = left[at:] + self._read(), 0
                continue
            frames.append(left[at + _SIZE_BYTES : end])
            at = end
        self._left = left[at:]
        return frames

    def ask(self, request: Request, version: int, *, answer: type[R]) -> R:
        """Send a request and return its response."""
        self.send(frame_of(request, version))
        return decoded(self.receive(), answer, version)

    def close(self) -> None:
        self.socket.close()

    def _size(self) -> int | None:
        if len(self._left) < _SIZE_BYTES:
            return None
        return _SIZE_BYTES + int.from_bytes(self._left[:_SIZE_BYTES])

    def _read(self) -> bytes:
        data = self.socket.recv(_AT_ONCE)
        if not data:
            raise ConnectionResetError("the broker has closed the connection")
        return data


def decoded(frame: bytes, answer: type[R], version: int) -> R:
    """Return the response of a frame to a request of this version."""
    since = answer.__schema__.flexible_since
    tags = 1 if since is not None and version >= since else 0
    return decode(answer, memoryview(frame)[_CORRELATION_BYTES + tags :], version)


def await_coordinators(channel: Channel, groups: Sequence[str]) -> None:
    """Wait until the groups are served; their topic is made with the first FindCoordinator."""
    find = FindCoordinatorRequest(key=groups[0], key_type=0)
    while channel.ask(find, _FIND, answer=FindCoordinatorResponse).error_code != _NO_ERROR:
        sleep(_POLL_S)
    asked = [OffsetFetchRequestGroup(group_id=each, topics=[]) for each in groups]
    fetch = OffsetFetchRequest(groups=asked)
    while any(
        each.error_code for each in channel.ask(fetch, _FETCH, answer=OffsetFetchResponse).groups
    ):
        sleep(_POLL_S)


def pipelined(channels: Sequence[Channel], frames: Sequence[bytes], *, window: int) -> list[bytes]:
    """Send frames in turns on all channels, two windows ahead of the responses; return these."""
    share = len(frames) // len(channels)
    parts = [
        [
            b"".join(frames[number * share + at : number * share + min(at + window, share)])
            for at in range(0, share, window)
        ]
        for number in range(len(channels))
    ]
    counts = [min(window, share - at) for at in range(0, share, window)]
    found = list[bytes]()
    for step in range(len(counts) + 1):
        if step < len(counts):
            for channel, part in zip(channels, parts, strict=True):
                channel.send(part[step])
        if step:
            for channel in channels:
                found += channel.receive_many(counts[step - 1])
    return found
