"""Socket server: acceptors, one task a connection, shared limits, orderly stop (Kafka:
`SocketServer`).

A connection's task lives from its acceptance until its socket is closed. An error ends one
connection only: it is counted, and logged if an operator or a developer can act on it.
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
from cordwood.broker.network.request_context import ConnectionInfo
from cordwood.broker.network.slice_reader import SliceReader
from cordwood.core.address import Address
from cordwood.core.errors import CordwoodError, KafkaStorageError
from cordwood.core.ports import Clock, Scheduler, Worker
from cordwood.observability.logs import fields
from cordwood.observability.metrics import Metrics

if TYPE_CHECKING:
    from cordwood.core.ports import Timer

_SWEEP_MS: Final = 1_000

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
        self.quotas = ConnectionQuotas(settings)
        self.memory = MemoryPool(settings)
        self._scheduler = ports.scheduler
        self._metrics = metrics
        self._shared = ServerResources(
            handle=handle,
            settings=settings,
            memory=self.memory,
            clock=ports.clock,
            metrics=metrics,
            received=memoryview(bytearray(SMALL_FRAME_BYTES)),
            slices=SliceReader(ports.worker),
        )
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
                    has_room=self.quotas.has_room,
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
        self._sweep_timer = self._scheduler.every(_SWEEP_MS, self._sweep)
        return bound

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
        serving = self._serve(connection, accepted, listener.tls)
        task = asyncio.get_running_loop().create_task(serving)
        self._connections[task] = connection
        task.add_done_callback(partial(self._forget, accepted))

    async def _serve(
        self, connection: Connection, accepted: socket.socket, tls: ssl.SSLContext | None
    ) -> None:
        """Open, run and close one connection."""
        is_orderly = False
        try:
            await connection.open(accepted, tls)
            await connection.run()
            is_orderly = True
            self._count_end("close")
        except KafkaStorageError as error:
            self._count_end("storage")
            _log.error(
                "response failed", extra=fields(**connection.log_fields(), reason=str(error))
            )
        except CordwoodError as error:
            self._count_end("refusal")
            _log.warning(
                "request refused", extra=fields(**connection.log_fields(), reason=str(error))
            )
        except OSError:  # the client has disconnected, or the TLS handshake has failed
            self._count_end("disconnect")
        except Exception:  # noqa: BLE001 - the task's owner: it ends this connection alone
            self._count_end("failure")
            _log.exception("request failed", extra=fields(**connection.log_fields()))
        finally:
            await connection.close(is_orderly=is_orderly)

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
        self.memory.admit_waiting()
        self._resume_acceptors()
