"""One connection of a client through a proxy: requests to the broker, responses back, and faults.

Two tasks forward the frames of the two directions, in order. A fault is chosen when its request
arrives, and takes effect there or at its response, which has the same correlation id. A request
without a response (`acks=0`) leaves an unused entry.

The connection ends when one side closes it; then the other side is closed as well.
"""

import asyncio
import struct
from typing import Final, NamedTuple

from cordwood.client.network.runtime import ClientRuntime
from cordwood.core.address import Address
from cordwood.protocol.apis import APIS, Api
from cordwood.testing.proxy.broker_addresses import (
    AddressOf,
    ResponseFrame,
    has_addresses,
)
from cordwood.testing.proxy.network_faults import (
    ChosenFault,
    ConnectionChance,
    FaultKind,
    NetworkFault,
    NetworkFaults,
)

_LENGTH: Final = struct.Struct(">i")
_REQUEST: Final = struct.Struct(">hhi")
_READ_BYTES: Final = 1 << 16


class ClosedByFaultError(ConnectionError):
    """A fault closes the connection."""


class ForwardedRequest(NamedTuple):
    """A request that the broker got; `api` is None if it is not declared here."""

    api: Api | None
    version: int
    chosen: ChosenFault | None


class ProxiedConnection:
    """One client's connection, and the proxy's own connection to the broker."""

    def __init__(
        self,
        faults: NetworkFaults,
        runtime: ClientRuntime,
        *,
        address_of: AddressOf,
        chance: ConnectionChance,
    ) -> None:
        self._faults = faults
        self._runtime = runtime
        self._address_of = address_of
        self._chance = chance
        self._forwarded: dict[int, ForwardedRequest] = {}
        self._is_silent = False

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, target: Address
    ) -> None:
        """Forward frames until one side closes its connection."""
        chosen = self._faults.of_connection(self._chance)
        if chosen is not None:
            chosen.take_effect()
            if chosen.fault.kind is FaultKind.HANG:
                await _read_to_the_end(reader)
            return
        to_read, to_write = await asyncio.open_connection(*target)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._forward(reader, to_write))
                both.create_task(self._respond(to_read, writer))
        except* (asyncio.IncompleteReadError, ConnectionError):
            pass  # one side has closed its connection
        finally:
            to_write.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            frame = await _read_frame(reader)
            key, version, correlation_id = _REQUEST.unpack_from(frame)
            api = APIS.get(key)
            chosen = None if api is None else self._faults.of_request(api.name, self._chance)
            if chosen is not None and not chosen.fault.is_handled:
                chosen.take_effect()
                if chosen.fault.kind is FaultKind.DROP:
                    await _read_to_the_end(reader)
                raise ClosedByFaultError
            self._forwarded[correlation_id] = ForwardedRequest(api, version, chosen)
            writer.write(_LENGTH.pack(len(frame)) + frame)
            await writer.drain()

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            frame = await _read_frame(reader)
            (correlation_id,) = _LENGTH.unpack_from(frame)
            request = self._forwarded.pop(correlation_id)
            if self._is_silent:
                continue
            frame = await self._readdressed(frame, request)
            if request.chosen is not None:
                request.chosen.take_effect()
                await self._send_as(request.chosen.fault, frame, writer=writer)
            else:
                writer.write(_LENGTH.pack(len(frame)) + frame)
                await writer.drain()

    async def _send_as(
        self, fault: NetworkFault, frame: bytes, *, writer: asyncio.StreamWriter
    ) -> None:
        """Send a response as its fault leaves it."""
        data = _LENGTH.pack(len(frame)) + frame
        if fault.kind is FaultKind.CLOSE:
            writer.write(data[: fault.kept_bytes])
            raise ClosedByFaultError
        if fault.kind is FaultKind.DROP:
            self._is_silent = True
        elif fault.kind is not FaultKind.SWALLOW:
            await self._send_slowly(fault, data, writer=writer)

    async def _send_slowly(
        self, fault: NetworkFault, data: bytes, *, writer: asyncio.StreamWriter
    ) -> None:
        """Send a response after a pause, or in pieces with pauses."""
        if fault.kind is FaultKind.DELAY:
            await self._runtime.sleep_ms(fault.pause_ms)
        step = fault.piece_bytes if fault.kind is FaultKind.TRICKLE else len(data)
        for at in range(0, len(data), step):
            writer.write(data[at : at + step])
            await writer.drain()
            if fault.kind is FaultKind.TRICKLE:
                await self._runtime.sleep_ms(fault.pause_ms)

    async def _readdressed(self, frame: bytes, request: ForwardedRequest) -> bytes:
        """Return a response with the proxy's addresses, and with the changes of its fault."""
        api, version, chosen = request
        fault = None if chosen is None else chosen.fault
        change = None if fault is None else fault.change_message
        if api is not None and (change is not None or has_addresses(api)):
            response = ResponseFrame(frame, api, version)
            is_changed = await response.replace_addresses(self._address_of)
            if change is not None:
                change(response.message)
            frame = response.encode() if is_changed or change is not None else frame
        if fault is not None and fault.change is not None:
            frame = fault.change(frame)
        return frame


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    return await reader.readexactly(size)


async def _read_to_the_end(reader: asyncio.StreamReader) -> None:
    """Return when the client has closed its connection; drop what it sends until then."""
    while await reader.read(_READ_BYTES):
        pass
