"""Channels to brokers in memory, in virtual time; a test makes a broker slow, deaf or absent.

A request is encoded and decoded on its way, and so is the response.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from cordwood.core.address import Address
from cordwood.core.errors import NetworkError, RequestTimedOutError
from cordwood.protocol.codec import decode, encode
from cordwood.protocol.schema import Message, Request, Response
from tests.simulation.world import World

M = TypeVar("M", bound=Message)
R = TypeVar("R", bound=Response)


@dataclass
class Peer:
    """A broker as channels reach it."""

    answer: Callable[[Request], Response]
    is_up: bool = True
    #: Requests are handled, and their responses lost.
    loses_responses: int = 0
    #: Requests are not even handled, and time out.
    is_deaf: bool = False
    delay_ms: float = 2
    handled: list[Request] = field(default_factory=list)
    #: Requests on their way, now and at most.
    in_flight: int = 0
    most_in_flight: int = 0


class MemoryChannels:
    """The port to brokers that are registered with a port of their own."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.peers = dict[Address, Peer]()
        self.opened = list["MemoryChannel"]()

    def open(self, address: Address, *, client_id: str) -> "MemoryChannel":
        channel = MemoryChannel(self, address, client_id)
        self.opened.append(channel)
        return channel


class MemoryChannel:
    """A channel to one address."""

    def __init__(self, channels: MemoryChannels, address: Address, client_id: str) -> None:
        self.address = address
        self.client_id = client_id
        self.is_closed = False
        self._channels = channels

    async def send(
        self, request: Request, kind: type[R], *, timeout_ms: float, most_version: int = 99
    ) -> R:
        assert not self.is_closed, "a closed channel is not used"
        peer = self._channels.peers.get(self.address)
        if peer is None or not peer.is_up:
            await self._pass_ms(1)
            raise NetworkError(f"broker {self.address} cannot be reached")
        peer.in_flight += 1
        peer.most_in_flight = max(peer.most_in_flight, peer.in_flight)
        try:
            return await self._answered(peer, request, kind, timeout_ms, most_version)
        finally:
            peer.in_flight -= 1

    async def _answered(
        self, peer: Peer, request: Request, kind: type[R], timeout_ms: float, version: int
    ) -> R:
        sent = _copied(request, type(request), version)
        await self._pass_ms(peer.delay_ms)
        if peer.is_deaf:
            await self._pass_ms(timeout_ms)
            raise RequestTimedOutError(f"broker {self.address} did not answer")
        if not peer.is_up:
            raise NetworkError(f"broker {self.address} is gone")
        peer.handled.append(sent)
        response = peer.answer(sent)
        await self._pass_ms(peer.delay_ms)
        if peer.loses_responses:
            peer.loses_responses -= 1
            raise NetworkError(f"broker {self.address} closed the connection")
        return _copied(response, kind, version)

    async def version(self, kind: type[Request], *, timeout_ms: float) -> int:
        return kind.__schema__.versions[1]

    def close(self) -> None:
        self.is_closed = True

    async def _pass_ms(self, ms: float) -> None:
        passed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self._channels.world.after(ms, lambda: passed.set_result(None))
        try:
            await passed
        finally:
            timer.cancel()


def _copied(message: Message, kind: type[M], version: int) -> M:
    chunks = [bytes(cast("bytes", each)) for each in encode(message, version)]
    return decode(kind, memoryview(b"".join(chunks)), version)
