"""Socket server: acceptors, one task a connection, shared limits, orderly stop (Kafka:
`SocketServer`).

A connection's task lives from its acceptance until its socket is closed. An error ends one
connection only: it is counted, and logged if an operator or a developer can act on it.

A connection has one response under way. While all of them together take more memory than
RESPONSE_BYTES, connections are closed whose clients read nothing from one sweep to the next.
"""

import asyncio
import itertools
import logging
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from cordwood.broker.network.acceptor import Acceptor, Listener
from cordwood.broker.network.connection import Connection, Handle, ServerResources
from cordwood.broker.network.connection_quotas import ConnectionQuotas, SocketServerSettings
from cordwood.broker.network.memory_pool import SMALL_FRAME_BYTES, MemoryPool
from cordwood.broker.network.peer_log import INTERVAL_MS, PeerLog
from cordwood.broker.network.request_context import ConnectionInfo
from cordwood.broker.network.slice_reader import SliceReader
from cordwood.core.address import Address
from cordwood.core.errors import CordwoodError, KafkaStorageError
from cordwood.core.ports import Clock, Scheduler, Worker
from cordwood.observability.logs import fields
from cordwood.observability.metrics import Metrics

if TYPE_CHECKING:
    from cordwood.core.ports import Timer

_SWEEP_MS: Final = INTERVAL_MS
#: The memory of responses that clients have not read, without the ranges of files.
RESPONSE_BYTES: Final = 64 * 1024 * 1024

_log = logging.getLogger(__name__)


class SocketServerPorts(NamedTuple):
    """The ports of a socket server; `worker` reads files of responses from the disk."""

    clock: Clock
    scheduler: Scheduler
    worker: Worker


class SocketServer:
    """Accepts connections, passes their requests to `handle`, and stops in order.

    `settings` is called each time they are needed, so that a change takes effect at once.
    """

    def __init__(
        self,
        handle: Handle,
        settings: Callable[[], SocketServerSettings],
        *,
        ports: SocketServerPorts,
        metrics: Metrics,
    ) -> None:
        self.quotas, self.memory = ConnectionQuotas(settings), MemoryPool(settings)
        self._scheduler, self._metrics = ports.scheduler, metrics
        self._shared = ServerResources(
            handle=handle,
            settings=settings,
            memory=self.memory,
            clock=ports.clock,
            metrics=metrics,
            received=memoryview(bytearray(SMALL_FRAME_BYTES)),
            slices=SliceReader(ports.worker),
        )
        self._peer_log = PeerLog(_log, ports.clock)
        self._is_capacity_reported = False
        self._acceptors: list[Acceptor] = []
        self._sweep_timer: Timer | None = None
        self._connections: dict[asyncio.Task[None], Connection] = {}
        self._ids = itertools.count(1)

    async def start(self, listeners: Sequence[Listener]) -> dict[str, Address]:
        """Open all listeners; return their bound addresses by name, or raise ListenError."""
        bound: dict[str, Address] = {}
        try:
            for listener in listeners:
                acceptor = Acceptor(
                    listener,
                    has_room=self._has_room,
                    accepted=self._accept,
                    failed=self._report_exhausted,
                )
                self._acceptors.append(acceptor)
                bound[listener.name] = acceptor.open()
        except BaseException:
            self._close_acceptors()
            raise
        self._metrics.read("cordwood_connections", self.quotas.by_listener)
        self._metrics.read("cordwood_request_memory_bytes", lambda: {(): self.memory.allocated})
        self._metrics.read("cordwood_response_memory_bytes", lambda: {(): self.response_bytes})
        self._sweep_timer = self._scheduler.every(_SWEEP_MS, self._sweep)
        return bound

    @property
    def response_bytes(self) -> int:
        """The memory of the responses under way."""
        return sum(each.unread_bytes for each in self._connections.values())

    async def stop(self, grace_ms: float) -> None:
        """Stop accepting, complete the requests in progress, then close every connection.

        Queued requests are dropped. Connections that are not done after `grace_ms` are closed.
        """
        self._close_acceptors()
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        for task, connection in tuple(self._connections.items()):
            if not connection.finish():
                self._cancel(task, "stop")
        deadline_ms = self._shared.clock.monotonic_ms() + grace_ms
        end_of_grace = self._scheduler.call_at(deadline_ms, self._cancel_all)
        await asyncio.gather(*self._connections, return_exceptions=True)
        end_of_grace.cancel()

    def _close_acceptors(self) -> None:
        for acceptor in self._acceptors:
            acceptor.close()
        self._acceptors.clear()

    def _resume_acceptors(self) -> None:
        for acceptor in self._acceptors:
            acceptor.resume()

    def _has_room(self, listener: str) -> bool:
        if self.quotas.is_at_capacity and not self._is_capacity_reported:
            self._is_capacity_reported = True
            _log.error(
                "connections limited",
                extra=fields(
                    open=self.quotas.total,
                    reason="the other descriptors of the process are reserved for files",
                    remedy="raise its limit (ulimit -n, LimitNOFILE), or lower max.connections",
                ),
            )
        return self.quotas.has_room(listener)

    def _report_exhausted(self, listener: Listener, error: OSError) -> None:
        self._metrics.counter("cordwood_connections_refused_total", "system").add()
        _log.error("listener exhausted", extra=fields(listener=listener.name, reason=str(error)))

    def _accept(self, listener: Listener, accepted: socket.socket, peer: Address) -> None:
        if not self.quotas.add(listener.name, peer.host):
            accepted.close()
            self._metrics.counter("cordwood_connections_refused_total", "address").add()
            return
        self._metrics.counter("cordwood_connections_opened_total", listener.name).add()
        info = ConnectionInfo(
            id=next(self._ids),
            host=peer.host,
            port=peer.port,
            listener=listener.name,
            is_secure=listener.tls is not None,
        )
        connection = Connection(info, self._shared)
        serving = self._serve(connection, accepted, listener.tls and listener.tls())
        task = asyncio.get_running_loop().create_task(serving)
        self._connections[task] = connection
        task.add_done_callback(partial(self._forget, accepted))

    async def _serve(
        self, connection: Connection, accepted: socket.socket, tls: ssl.SSLContext | None
    ) -> None:
        """Open, run and close one connection."""
        is_orderly = False
        try:
            if not await self._open(connection, accepted, tls):
                return
            await connection.run()
            is_orderly = True
            self._count_end("close")
        except KafkaStorageError as error:
            self._count_end("storage")
            self._report(logging.ERROR, "response failed", connection, reason=str(error))
        except CordwoodError as error:
            self._count_end("refusal")
            self._report(logging.WARNING, "request refused", connection, reason=str(error))
        except OSError:  # the client has disconnected
            self._count_end("disconnect")
        except Exception as error:  # noqa: BLE001 - the task's owner: it ends this connection alone
            self._count_end("failure")
            self._report(logging.ERROR, "request failed", connection, error=error)
        finally:
            await connection.close(is_orderly=is_orderly)

    async def _open(
        self, connection: Connection, accepted: socket.socket, tls: ssl.SSLContext | None
    ) -> bool:
        """Open a connection; return False, and count and log it, if the TLS handshake fails."""
        try:
            await connection.open(accepted, tls)
        except (ssl.SSLError, ConnectionAbortedError) as error:  # aborted: the loop's timeout
            reason = _handshake_failure(error)
            self._count_end("handshake")
            self._metrics.counter("cordwood_tls_failures_total", reason).add()
            self._report(logging.WARNING, "TLS handshake failed", connection, reason=reason)
            return False
        return True

    def _report(
        self,
        level: int,
        event: str,
        connection: Connection,
        *,
        reason: str | None = None,
        error: Exception | None = None,
    ) -> None:
        """Log an event of a connection, unless its address has filled its share of the log."""
        values = connection.log_fields()
        if reason is not None:
            values["reason"] = reason
        host = connection.info.host
        self._peer_log.write(level, event, host=host, values=values, error=error)

    def _forget(self, accepted: socket.socket, task: asyncio.Task[None]) -> None:
        """Release a connection's resources, also if its task was cancelled before it began."""
        connection = self._connections.pop(task)
        connection.abandon()
        accepted.close()
        self.quotas.remove(connection.info.listener, connection.info.host)
        self._resume_acceptors()

    def _cancel(self, task: asyncio.Task[None], reason: str) -> None:
        if not task.cancelling():
            self._count_end(reason)
            task.cancel()

    def _count_end(self, reason: str) -> None:
        self._metrics.counter("cordwood_connections_ended_total", reason).add()

    def _cancel_all(self) -> None:
        for task in tuple(self._connections):
            self._cancel(task, "stop")

    def _sweep(self) -> None:
        """Close idle connections, and apply limits that have been raised."""
        idle_ms = self._shared.settings().connections_max_idle_ms
        for task, connection in tuple(self._connections.items()):
            if idle_ms >= 0 and connection.is_idle(idle_ms):
                self._cancel(task, "idle")
            elif self.memory.is_short and connection.is_keeping_memory():
                self._cancel(task, "memory")
        self._close_unread()
        self._peer_log.sweep()
        self.memory.admit_waiting()
        self._resume_acceptors()

    def _close_unread(self) -> None:
        """Close connections with the largest unread responses until the others are few enough."""
        unread = [each for each in self._connections.items() if each[1].is_unread()]
        excess = self.response_bytes - RESPONSE_BYTES
        for task, connection in sorted(unread, key=lambda each: -each[1].unread_bytes):
            if excess <= 0:
                return
            self._cancel(task, "response")
            excess -= connection.unread_bytes


def _handshake_failure(error: OSError) -> str:
    """Return OpenSSL's name of a failed handshake, such as `http_request`, for a metrics label."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or type(error).__name__).lower()
    return "timeout"
