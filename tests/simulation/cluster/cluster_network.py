"""Network of a simulated cluster: connections between processes, in virtual time.

    client ──► frame ──► requests of one connection, in order ──► handle of a node
           ◄── frame ◄── responses in the same order          ◄──

Frames are the bytes of the real clients and channels. A connection keeps their order. Like TCP it
repeats nothing and leaves nothing out, so a lost frame breaks it. A broken connection can still
deliver requests that were on their way, even after its client has sent them again on another one.
While two processes are partitioned, frames between them wait; the connection may break meanwhile.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import count
from typing import Final, NamedTuple, TypeAlias

from cordwood.broker.network.acceptor import Listener
from cordwood.broker.network.connection import Handle
from cordwood.broker.network.connection_quotas import SocketServerSettings
from cordwood.broker.network.pending_response import chunks_of
from cordwood.broker.network.request_context import ConnectionInfo, RequestContext
from cordwood.broker.network.socket_server import SocketServerPorts
from cordwood.client.network.runtime import resolve
from cordwood.core.address import Address
from cordwood.core.binary import Buffer
from cordwood.core.errors import KafkaError
from cordwood.observability.metrics import Metrics
from cordwood.protocol.apis import api_of
from cordwood.protocol.framing import framed
from cordwood.protocol.header import read_request_header, response_header
from cordwood.protocol.primitives import Chunk
from tests.simulation.cluster.cluster_world import ClusterWorld, ProcessLoop

_BREAKS_IN_PARTITION: Final = 0.5
_LONGEST_NOTICE_MS: Final = 200.0
_REFUSED_MS: Final = 100.0
_SIZE_BYTES: Final = 4
NEVER_MS: Final = -1.0


class FrameFault(NamedTuple):
    """A frame is lost with its connection, or only late; a lost one can still arrive."""

    is_lost: bool
    late_ms: float


#: Returns the fault of a frame by its name; `api_key` is that of its request.
FrameFaults: TypeAlias = Callable[[str, int], FrameFault | None]


class ClusterNetwork:
    """All connections, and the servers by address."""

    def __init__(self, world: ClusterWorld) -> None:
        self.world: Final = world
        self.servers = dict[Address, SimulatedServer]()
        self._wires = dict[Wire, None]()
        self._partitions = dict[frozenset[str], None]()
        self._ids = count(1)
        self._frames = Counter[tuple[str, str, str]]()
        self.faults: FrameFaults = lambda _, __: None
        #: The APIs whose requests do not arrive after their connection has broken.
        self.never_late: Container[int] = frozenset()

    async def connect(
        self,
        client: ProcessLoop,
        factory: Callable[[], asyncio.BufferedProtocol],
        address: Address,
    ) -> "tuple[Wire, asyncio.BufferedProtocol]":
        """Open a connection; ConnectionRefusedError if there is no server."""
        world = self.world
        arrived: asyncio.Future[None] = client.create_future()
        server = self.servers.get(address)
        is_reachable = server is not None and not self.is_partitioned(client, server.process)
        delay_ms = world.random.uniform(0.2, 3) if is_reachable else _REFUSED_MS
        world.after(delay_ms, lambda: resolve(arrived))
        await arrived
        server = self.servers.get(address)
        if server is None or not is_reachable or not server.process.is_alive:
            raise ConnectionRefusedError(f"no server at {address}")
        protocol = factory()
        wire = Wire(self, client, server, protocol=protocol, number=next(self._ids))
        self._wires[wire] = None
        protocol.connection_made(wire)
        return wire, protocol

    # -- faults

    def is_partitioned(self, one: ProcessLoop, other: ProcessLoop) -> bool:
        """Return whether no frame passes between two processes."""
        return frozenset((one.name, other.name)) in self._partitions

    def partition(self, one: str, other: str) -> None:
        """Let the frames between two processes wait."""
        self._partitions[frozenset((one, other))] = None

    def heal(self, one: str, other: str) -> None:
        """Deliver the frames that have waited, or break their connections."""
        if self._partitions.pop(frozenset((one, other)), 1) is not None:
            return
        for wire in [*self._wires]:
            if {wire.client.name, wire.server.process.name} == {one, other}:
                if self.world.random.random() < _BREAKS_IN_PARTITION:
                    self.world.count("connections broken by partitions")
                    wire.lose()
                wire.deliver_held()

    def heal_all(self) -> None:
        """End all partitions."""
        for one, other in [tuple(sorted(each)) for each in self._partitions]:
            self.heal(one, other)

    def fault_of(self, client: str, way: str, server: str, *, api_key: int) -> FrameFault | None:
        """Return the fault of the next frame between two processes."""
        key = client, way, server
        self._frames[key] += 1
        return self.faults(f"{client}{way}{server}#{self._frames[key]}", api_key)

    def break_all(self, process: ProcessLoop, *, late_ms: float = NEVER_MS) -> None:
        """Break the connections of a process that has ended; its last requests may arrive."""
        for wire in [*self._wires]:
            if process is wire.client:
                wire.lose(late_ms=late_ms)
            elif process is wire.server.process:
                wire.lose()

    def forget(self, wire: "Wire") -> None:
        """Remove a connection that its client has closed."""
        self._wires.pop(wire, None)


class Wire(asyncio.Transport):
    """One connection; the transport of its client."""

    def __init__(
        self,
        network: ClusterNetwork,
        client: ProcessLoop,
        server: "SimulatedServer",
        *,
        protocol: asyncio.BufferedProtocol,
        number: int,
    ) -> None:
        super().__init__()
        self.client: Final = client
        self.server: Final = server
        self.number: Final = number
        self._network = network
        self._protocol = protocol
        self._served = ServedConnection(self, server)
        self._is_open = True
        #: Whether frames still arrive.
        self._carries = True
        self._held = list[Callable[[], object]]()
        self._arrival_ms = [0.0, 0.0]
        self._last_request: bytes | None = None

    # -- asyncio.Transport

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing: the network takes all frames at once."""

    def is_closing(self) -> bool:
        return not self._is_open

    def writelines(self, list_of_data: Iterable[Buffer]) -> None:
        frame = b"".join(bytes(each) for each in list_of_data)
        if not self._is_open:
            return
        self._last_request = frame
        fault = self._fault_of(">", _api_key(frame))
        if fault is not None and fault.is_lost:
            self.lose(late_ms=fault.late_ms)
            return
        self._send(
            0, lambda: self._served.arrive(frame[_SIZE_BYTES:]), self.server.process, fault=fault
        )

    def abort(self) -> None:
        if self._is_open:
            self._is_open = False
            self._network.forget(self)
            self.client.call_soon(self._protocol.connection_lost, None)
            self._send(0, self._served.disconnect, self.server.process)

    # -- the other side

    def respond(self, frame: bytes, *, api_key: int) -> None:
        """Send the frame of a response."""
        self._last_request = None
        fault = self._fault_of("<", api_key)
        if fault is not None and fault.is_lost:
            self.lose()
            return
        self._send(1, lambda: self._receive(frame), self.client, fault=fault)

    def _fault_of(self, way: str, api_key: int) -> FrameFault | None:
        return self._network.fault_of(
            self.client.name, way, self.server.process.name, api_key=api_key
        )

    def lose(self, *, late_ms: float = NEVER_MS) -> None:
        """Break the connection; both sides notice later, and the last request may arrive before."""
        if not self._carries:
            return
        self._carries = False
        world, process = self._network.world, self.server.process
        self._network.forget(self)
        world.after(
            world.random.uniform(1, _LONGEST_NOTICE_MS),
            lambda: self.client.call_soon(self._break, "the connection is lost"),
        )
        self._arrive_late(late_ms)
        world.after(
            max(0.0, late_ms) + world.random.uniform(1, _LONGEST_NOTICE_MS),
            lambda: process.call_soon(self._served.disconnect),
        )

    def deliver_held(self) -> None:
        """Let the frames arrive that have waited for the end of a partition."""
        held, self._held = self._held, []
        for call in held:
            call()

    def _arrive_late(self, late_ms: float) -> None:
        """Let the last request without a response arrive, although the connection breaks."""
        frame, world = self._last_request, self._network.world
        if frame is None or late_ms == NEVER_MS or _api_key(frame) in self._network.never_late:
            return
        served, process = self._served, self.server.process

        def arrive() -> None:
            if process.is_alive:
                world.count("requests handled although they were lost")
                process.call_soon(served.arrive, frame[_SIZE_BYTES:])

        world.after(late_ms, arrive)

    def _send(
        self,
        way: int,
        call: Callable[[], object],
        process: ProcessLoop,
        *,
        fault: FrameFault | None = None,
    ) -> None:
        world = self._network.world
        delay_ms = world.random.uniform(0.2, 3)
        if fault is not None:
            delay_ms = fault.late_ms
        at = self._arrival_ms[way] = max(world.now_ms + delay_ms, self._arrival_ms[way])

        def arrive() -> None:
            if not self._carries:
                return
            if self._held or self._network.is_partitioned(self.client, self.server.process):
                world.count("frames held by partitions")
                self._held.append(lambda: self._carries and process.call_soon(call))
            else:
                process.call_soon(call)

        world.at(at, arrive)

    def _receive(self, frame: bytes) -> None:
        view = memoryview(frame)
        while view and self._is_open:
            room = memoryview(self._protocol.get_buffer(len(view)))
            length = min(len(room), len(view))
            room[:length] = view[:length]
            self._protocol.buffer_updated(length)
            view = view[length:]

    def _break(self, reason: str) -> None:
        if self._is_open:
            self._is_open = False
            self._protocol.connection_lost(ConnectionResetError(reason))


class ServedConnection:
    """The side of the server: it handles one request at a time."""

    def __init__(self, wire: Wire, server: "SimulatedServer") -> None:
        self._wire = wire
        self._server = server
        self._info = ConnectionInfo(
            id=wire.number,
            host=wire.client.name,
            port=wire.number,
            listener="PLAINTEXT",
            is_secure=False,
        )
        self._frames = deque[bytes]()
        self._is_handling = False

    def arrive(self, frame: bytes) -> None:
        """Handle a request after those before it."""
        self._frames.append(frame)
        if not self._is_handling:
            self._is_handling = True
            self._server.process.begin(self._handle_all())

    def disconnect(self) -> None:
        """End the waits on behalf of a client that has gone."""
        self._info.stopping.fire()

    async def _handle_all(self) -> None:
        while self._frames:
            try:
                await self._handle(self._frames.popleft())
            except KafkaError:
                self._wire.lose()
        self._is_handling = False

    async def _handle(self, frame: bytes) -> None:
        header, body_at = read_request_header(memoryview(frame))
        request = RequestContext(
            header.request_api_key,
            header.request_api_version,
            header.correlation_id,
            header.client_id,
            self._info,
        )
        self._server.on_request(request)
        body = memoryview(bytearray(frame))[body_at:]
        chunks = await chunks_of(await self._server.handle(request, body))
        if chunks is not None:
            start = response_header(
                api_of(request.api_key),
                request.api_version,
                correlation_id=request.correlation_id,
            )
            data = b"".join(map(_bytes_of, framed(start, chunks)))
            self._wire.respond(data, api_key=request.api_key)


class SimulatedServer:
    """The `NodeServer` of one node."""

    def __init__(self, network: ClusterNetwork, process: ProcessLoop, handle: Handle) -> None:
        self.process: Final = process
        self.handle: Final = handle
        self._network = network
        self._address: Address | None = None
        self.on_request: Callable[[RequestContext], object] = lambda _: None

    async def start(self, listeners: Sequence[Listener]) -> Mapping[str, Address]:
        """Serve the only listener."""
        (listener,) = listeners
        self._address = Address(listener.host, listener.port)
        self._network.servers[self._address] = self
        return {listener.name: self._address}

    async def stop(self, grace_ms: float) -> None:
        """Break all connections."""
        self.leave()
        self._network.break_all(self.process)

    def leave(self) -> None:
        """Accept no connection from now on."""
        if self._address is not None and self._network.servers.get(self._address) is self:
            del self._network.servers[self._address]


class SimulatedServers:
    """The `ServerFactory` of one process."""

    def __init__(self, network: ClusterNetwork, process: ProcessLoop) -> None:
        self._network = network
        self._process = process
        self.server: SimulatedServer | None = None

    def __call__(
        self,
        handle: Handle,
        settings: Callable[[], SocketServerSettings],
        *,
        ports: SocketServerPorts,
        metrics: Metrics,
    ) -> SimulatedServer:
        self.server = SimulatedServer(self._network, self._process, handle)
        return self.server


def _api_key(frame: bytes) -> int:
    """Return the API of a request, which its header begins with."""
    return int.from_bytes(frame[_SIZE_BYTES : _SIZE_BYTES + 2])


def _bytes_of(chunk: Chunk) -> bytes:
    if isinstance(chunk, Buffer):
        return bytes(chunk)
    try:
        return bytes(chunk.read())
    finally:
        chunk.release()
