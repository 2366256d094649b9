"""The server: listeners, a task a connection, the limits they share, and an orderly end.

A connection's task lives from the moment it is accepted until its socket is closed. Whatever ends
one ends it alone: it is counted, and logged where somebody could do something about it.
"""

import asyncio
import itertools
import logging
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from cordwood.broker.connection import Connection, Handle, Shared
from cordwood.broker.limits import ConnectionLimits, ServerSettings
from cordwood.broker.listening import Listener, ListeningSocket
from cordwood.broker.memory import SMALL_FRAME_BYTES, MemoryBudget
from cordwood.broker.network import Network
from cordwood.broker.request import ConnectionInfo
from cordwood.core.address import Address
from cordwood.core.errors import CordwoodError
from cordwood.observability.logs import fields
from cordwood.observability.metrics import Metrics

if TYPE_CHECKING:
    from cordwood.core.ports import Timer

_SWEEP_MS: Final = 1_000
#: A frame may be under way no longer than this while others wait for the memory it has.
_HOGGING_MS: Final = 30_000

_log = logging.getLogger(__name__)


class Server:
    """Accepts connections, answers their requests through `handle`, and stops when told to.

    `settings` is asked each time they are needed, so that a change takes effect at once.
    """

    def __init__(
        self,
        handle: Handle,
        settings: Callable[[], ServerSettings],
        *,
        network: Network,
        metrics: Metrics,
    ) -> None:
        self.limits = ConnectionLimits(settings)
        self.budget = MemoryBudget(lambda: settings().queued_max_bytes)
        self._settings = settings
        self._network = network
        self._metrics = metrics
        self._shared = Shared(
            handle=handle,
            settings=settings,
            budget=self.budget,
            clock=network.clock,
            metrics=metrics,
            received=memoryview(bytearray(SMALL_FRAME_BYTES)),
        )
        self._listening: list[ListeningSocket] = []
        self._sweeping: Timer | None = None
        self._connections: dict[asyncio.Task[None], Connection] = {}
        self._ids = itertools.count(1)

    async def start(self, listeners: Sequence[Listener]) -> dict[str, Address]:
        """Listen, and return what was bound by the listeners' names; all of it or ListenError."""
        bound: dict[str, Address] = {}
        try:
            for listener in listeners:
                listening = ListeningSocket(
                    listener,
                    has_room=self.limits.has_room,
                    accepted=self._accept,
                    failed=self._report_exhausted,
                )
                self._listening.append(listening)
                bound[listener.name] = listening.open()
        except BaseException:
            self._stop_listening()
            raise
        self._metrics.read("cordwood_connections", self.limits.by_listener)
        self._metrics.read("cordwood_request_memory_bytes", lambda: {(): self.budget.taken})
        self._sweeping = self._network.scheduler.every(_SWEEP_MS, self._sweep)
        return bound

    async def stop(self, grace_ms: float) -> None:
        """Accept no more, let requests at work be answered, then close every connection.

        Requests behind those are not begun. What is not answered after `grace_ms` is cut off.
        """
        self._stop_listening()
        if self._sweeping is not None:
            self._sweeping.cancel()
        for task, connection in tuple(self._connections.items()):
            if not connection.finish():
                self._cut(task, "stop")
        deadline_ms = self._network.clock.monotonic_ms() + grace_ms
        end_of_grace = self._network.scheduler.call_at(deadline_ms, self._cut_all)
        await asyncio.gather(*self._connections, return_exceptions=True)
        end_of_grace.cancel()

    def _stop_listening(self) -> None:
        for listening in self._listening:
            listening.close()
        self._listening.clear()

    def _resume_listening(self) -> None:
        for listening in self._listening:
            listening.resume()

    def _report_exhausted(self, listener: Listener, error: OSError) -> None:
        self._metrics.counter("cordwood_connections_refused_total", "system").add()
        _log.error("listener exhausted", extra=fields(listener=listener.name, reason=str(error)))

    def _accept(self, listener: Listener, accepted: socket.socket, peer: Address) -> None:
        if not self.limits.add(listener.name, peer.host):
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
        """See one connection through from beginning to end."""
        is_orderly = False
        try:
            await connection.open(accepted, tls)
            await connection.run()
            is_orderly = True
            self._count_end("close")
        except CordwoodError as error:
            self._count_end("refusal")
            _log.warning("request refused", extra=fields(**connection.facts(), reason=str(error)))
        except OSError:  # the peer has gone, or could not agree on how to encrypt
            self._count_end("disconnect")
        except Exception:  # noqa: BLE001 - the task's owner: it ends this connection alone
            self._count_end("failure")
            _log.exception("request failed", extra=fields(**connection.facts()))
        finally:
            await connection.close(is_orderly=is_orderly)

    def _forget(self, accepted: socket.socket, task: asyncio.Task[None]) -> None:
        """Give back what a connection had, even one whose task was cut before it began."""
        connection = self._connections.pop(task)
        connection.abandon()
        accepted.close()
        self.limits.remove(connection.info.listener, connection.info.host)
        self._resume_listening()

    def _cut(self, task: asyncio.Task[None], reason: str) -> None:
        if not task.cancelling():
            self._count_end(reason)
            task.cancel()

    def _count_end(self, reason: str) -> None:
        self._metrics.counter("cordwood_connections_ended_total", reason).add()

    def _cut_all(self) -> None:
        for task in tuple(self._connections):
            self._cut(task, "stop")

    def _sweep(self) -> None:
        """Look after what nobody else does: peers that do nothing, and settings that changed."""
        idle_ms = self._settings().connections_max_idle_ms
        for task, connection in tuple(self._connections.items()):
            if idle_ms >= 0 and connection.is_idle(idle_ms):
                self._cut(task, "idle")
            elif self.budget.is_short and connection.is_keeping_memory(_HOGGING_MS):
                self._cut(task, "memory")
        self.budget.serve()
        self._resume_listening()
